package commandline_test

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

const manual = `Paint paints. It's \fBfree\fP.

# Colours

  - red
  - blue

Examples:
  paint wall add RED
.nothing`

// paint runs a command of a program with a manual.
func paint(t *testing.T, out io.Writer, command string) error {
	t.Helper()
	root := &cli.Command{Name: "paint", Usage: "paint walls", Description: manual, Commands: []*cli.Command{{
		Name: "wall", Usage: "add walls", Commands: []*cli.Command{
			commandline.Leaf("add", "add a wall", "COLOUR", []cli.Flag{&cli.IntFlag{Name: "coats", Usage: "number of coats", Value: 2}}, nil),
		},
	}}}
	var errs bytes.Buffer
	commandline.Prepare(root, nil, out, &errs)
	_, err := commandline.Run(t.Context(), root, append([]string{"paint"}, strings.Fields(command)...))
	if errs.Len() != 0 {
		t.Errorf("%s: %s", command, &errs)
	}
	return err
}

// An output that is lost, and a help of nothing, are errors.
func TestRun_printsOrFails(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"": "walls", "--help": "walls", "--version": "paint version", "wall": "add walls", "wall add -h": "--coats", "wall add red --help": "--coats", "help wall add": "--coats", "wall h add": "--coats",
		"help --help": "paint help", "completion": "shell", "completion zsh": "compdef", "man": ".TH", "help wall --generate-shell-completion": "add:",
	} {
		var out bytes.Buffer
		if err := paint(t, &out, command); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%q: %v, %s", command, err, &out)
		}
		lost, write := io.Pipe()
		harness.Check(t, lost.Close())
		if err := paint(t, write, command); !errors.As(err, new(commandline.FailureError)) {
			t.Errorf("%q without an output: %v", command, err)
		}
	}
	for command, want := range map[string]string{
		"help -x": "--help", "wall help --lead": "--help", "help wall add red": "wall add --help", "help wall wall": "wall --help", "wal --help": "mean wall?", "wall ad -h": "mean add?", "wall ad --coats 3": "mean add?",
	} {
		if err := paint(t, io.Discard, command); err == nil || errors.As(err, new(commandline.FailureError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestMan_showsTheHelp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	harness.Check(t, paint(t, &out, "man"))
	page := out.String()
	for _, want := range []string{
		".TH \"PAINT\" \"1\"", ".SH \"NAME\"\n\\&paint \\- paint walls\n", "It\\(aqs \\efBfree\\efP.\n", ".SH \"Colours\"\n", ".IP \"•\" \"2\"\n\\&red\n",
		".nf\n\\&paint wall add RED\n.fi\n", "\n\\&.nothing\n", ".SS \"paint wall add COLOUR\"\n", ".TP\n\\&\\-\\-coats int\n\\&number of coats (default: 2)\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in %s", want, page)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skipf("%v: the page is not formatted", err)
	}
	command := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-k", "-Tutf8", "-z")
	command.Stdin = &out
	if output, err := command.CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("%v: %s", err, output)
	}
}
