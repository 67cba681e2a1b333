package commandline_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
)

const manual = `Paint paints. It's \fBfree\fP.

# Colours

  - red
  - blue

Examples:
  paint wall add RED
.nothing`

func TestMan_showsTheHelp(t *testing.T) {
	t.Parallel()
	root := &cli.Command{Name: "paint", Usage: "paint walls", Description: manual, Commands: []*cli.Command{{
		Name: "wall", Usage: "add walls", Commands: []*cli.Command{
			commandline.Leaf("add", "add a wall", "COLOUR", []cli.Flag{&cli.IntFlag{Name: "coats", Usage: "number of coats", Value: 2}}, nil),
		},
	}}}
	var out, errs bytes.Buffer
	commandline.Prepare(root, nil, &out, &errs)
	if err := root.Run(t.Context(), []string{"paint", "man"}); err != nil || errs.Len() != 0 {
		t.Fatal(err, errs.String())
	}
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
