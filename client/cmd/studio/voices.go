package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) voiceCommand() *cli.Command {
	return &cli.Command{
		Name: "voice", Usage: "list the voices that speak text",
		Description: "Examples:\n" + example("voice", "list --language pt-BR"),
		Commands: []*cli.Command{
			p.serviceLeaf("list", "list the voices that speak text", "", example("voice", "list\n  studio voice list --language pt-BR --json"),
				[]cli.Flag{&cli.StringFlag{Name: "language", Usage: "list only the voices of this language, such as pt-BR"}}, p.listVoices),
		},
	}
}

func (p *program) listVoices(ctx context.Context, command *cli.Command, c *client.Client) error {
	list, err := c.ListVoices(ctx, client.ListVoicesParams{Language: flagValue[gen.LanguageFilter](command, "language")})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	if !command.Bool("json") {
		_, _ = fmt.Fprintln(table, "ID\tLANGUAGE\tGENDER\tNAME")
	}
	for _, v := range list.Data {
		if command.Bool("json") {
			if err := commandline.PrintJSON(p.Stdout, v); err != nil {
				return err
			}
			continue
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", printable(v.VoiceID), printable(v.Language), cell(v.Gender), printable(v.Name))
	}
	return table.Flush()
}
