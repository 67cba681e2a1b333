package commandline_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
	"golang.org/x/sys/unix"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func TestHelp_isAsWideAsTheTerminal(t *testing.T) {
	t.Parallel()
	for columns, want := range map[uint16]int{0: 120, 59: 60, 80: 80, 120: 120, 121: 120, 500: 120} {
		person, program := harness.OpenTerminal(t)
		harness.Check(t, unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 24}))
		usage := strings.Repeat("é ", 300)
		root := &cli.Command{Name: "paint", Commands: []*cli.Command{
			commandline.Leaf("add", "add a wall", "", []cli.Flag{&cli.IntFlag{Name: "coats", Usage: usage}}, nil),
		}}
		commandline.Prepare(root, program, program, program)
		done := make(chan error, 1)
		go func() { done <- root.Run(t.Context(), []string{"paint", "add", "--help"}) }()
		help, buffer := "", make([]byte, 4096)
		for !strings.Contains(help, "show help") {
			n := harness.Try(person.Read(buffer))(t)
			help += string(buffer[:n])
		}
		harness.Check(t, <-done)
		widest := 0
		for line := range strings.Lines(help) {
			widest = max(widest, utf8.RuneCountInString(strings.TrimRight(line, "\r\n")))
		}
		if widest > want || widest < want-1 {
			t.Errorf("%d of %d columns are used: %s", widest, columns, help)
		}
	}
}
