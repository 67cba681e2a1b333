package render

import (
	"bytes"
	"encoding/binary"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// deniedCalls are system calls that no renderer needs. They create namespaces and mounts, inspect other processes, or
// are parts of the kernel that a user without privileges reaches and that often had faults.
//
//nolint:gochecknoglobals // a list
var deniedCalls = []string{
	"unshare", "setns", "chroot", "pivot_root", "mount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp",
	"add_key", "keyctl", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"name_to_handle_at", "open_by_handle_at", "fanotify_init", "modify_ldt", "personality", "quotactl", "quotactl_fd", "syslog", "uselib", "vmsplice",
}

const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// systemCallFilter returns a program for seccomp, as an array of struct sock_filter.
func systemCallFilter() ([]byte, error) {
	machine, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	var denied []string
	for _, name := range deniedCalls {
		if _, ok := machine.SyscallNames[name]; ok {
			denied = append(denied, name)
		}
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		{Action: seccomp.ActionErrno, Names: denied, NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: namespaceFlags}}},
			// A network namespace does not contain the sockets of hypervisors (AF_VSOCK).
			{Name: "socket", Conditions: seccomp.ArgumentConditions{
				{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_UNIX},
				{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_INET},
				{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_INET6},
			}},
		}},
		// The flags of clone3 are in memory. The C library then uses clone.
		{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
	}}
	instructions, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	// The policy would allow all calls of other architectures.
	native := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4}, // the architecture in struct seccomp_data
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(machine.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)},
	}
	assembled, err := bpf.Assemble(append(native, instructions...))
	if err != nil {
		return nil, err
	}
	var filter bytes.Buffer
	err = binary.Write(&filter, binary.NativeEndian, assembled)
	return filter.Bytes(), err
}
