package main

import (
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/term"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
)

// seen returns a buffer with the output of the terminal.
func seen(t *testing.T, person *os.File, program *os.File) *harness.Buffer {
	t.Helper()
	shown, ended := &harness.Buffer{}, make(chan struct{})
	go func() {
		defer close(ended)
		for buffer := make([]byte, 1024); ; {
			n, err := person.Read(buffer)
			_, _ = shown.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = program.Close() // the other end gets an error when the last descriptor is closed
		<-ended
	})
	return shown
}

func TestLogin_hidesThePasswordOnATerminal(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	for name, test := range map[string]struct {
		typed string
		code  int
		shown string
	}{
		"a password":   {s.Password + "\n", exitOK, "logged in at " + s.URL + " as " + s.Email},
		"an interrupt": {"half a pass\x03", exitInterrupted, "Password: \r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			person, program := harness.OpenTerminal(t)
			shown := seen(t, person, program)
			before := try(term.GetState(int(program.Fd())))(t)
			command := process(t, nil, []string{"login", "--base-url", s.URL})
			command.Stdin, command.Stdout, command.Stderr = program, program, program
			command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			check(t, command.Start())

			harness.Eventually(t, "asking for the email", func() bool { return strings.HasSuffix(shown.String(), "Email: ") })
			try(person.WriteString(s.Email + "\n"))(t)
			harness.Eventually(t, "asking for the password", func() bool {
				now := try(term.GetState(int(program.Fd())))(t)
				return strings.HasSuffix(shown.String(), "Password: ") && !reflect.DeepEqual(now, before)
			})
			try(person.WriteString(test.typed))(t)
			if code := exitCodeOf(t, command); code != test.code {
				t.Errorf("exit code %d: %s", code, shown)
			}
			harness.Eventually(t, test.shown, func() bool { return strings.Contains(shown.String(), test.shown) })
			if strings.Contains(shown.String(), "correct") || strings.Contains(shown.String(), "half") {
				t.Errorf("the password is shown: %s", shown)
			}
			if after, err := term.GetState(int(program.Fd())); err != nil || !reflect.DeepEqual(after, before) {
				t.Errorf("the terminal is not as it was (%v)", err)
			}
		})
	}
}
