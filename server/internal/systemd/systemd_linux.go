package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	firstSocket = 3 // SD_LISTEN_FDS_START
	// barrierTimeout is how long systemd may take to process notifications.
	barrierTimeout = 5 * time.Second
)

// Inherit returns the sockets that systemd gave to this process. It removes the environment variables that describe them,
// which are not for other programs.
func Inherit() *Sockets {
	s := &Sockets{manager: os.Getenv("NOTIFY_SOCKET")}
	if os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) {
		count, _ := strconv.Atoi(os.Getenv("LISTEN_FDS"))
		names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
		for i := range count {
			file := os.NewFile(uintptr(firstSocket+i), "socket")
			unix.CloseOnExec(firstSocket + i)
			listener, err := net.FileListener(file)
			_ = file.Close() // the listener has a copy
			if err != nil {
				continue // not a socket that listens
			}
			given := socket{Listener: listener}
			if i < len(names) {
				given.name = names[i]
			}
			s.unused, s.passed = append(s.unused, given), true
		}
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"} {
		_ = os.Unsetenv(name) // fails only for invalid names
	}
	return s
}

// store lets systemd keep a socket.
func (s *Sockets) store(l net.Listener) error {
	inner, ok := l.(syscall.Conn)
	if s.manager == "" || !ok {
		return nil
	}
	raw, err := inner.SyscallConn()
	if err != nil {
		return err
	}
	// os.File.Fd would make the socket blocking.
	return errors.Join(err, raw.Control(func(fd uintptr) {
		_ = s.notify(fmt.Sprintf("FDSTORE=1\nFDNAME=%s", storedName(l)), int(fd)) // then the next process opens another one
	}))
}

// notify sends a notification with files.
func (s *Sockets) notify(state string, files ...int) error {
	if s.manager == "" {
		return nil
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(fd) }()
	return os.NewSyscallError("sendmsg", unix.Sendmsg(fd, []byte(state), unix.UnixRights(files...), &unix.SockaddrUnix{Name: s.manager}, unix.MSG_NOSIGNAL))
}

// await waits until systemd has processed the notifications, so that it has closed what it was told to.
func (s *Sockets) await() {
	read, write, err := os.Pipe()
	if err != nil {
		return
	}
	defer func() { _ = read.Close() }()
	err = s.notify("BARRIER=1", int(write.Fd()))
	_ = write.Close()
	if s.manager != "" && err == nil {
		_ = read.SetReadDeadline(time.Now().Add(barrierTimeout))
		_, _ = read.Read(make([]byte, 1)) // ends when systemd has closed its copy
	}
}
