package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) voiceCommand() *cli.Command {
	return group("voice", "list the voices that speak text", example("voice", "list --language pt-BR"),
		p.serviceLeaf("list", "list the voices that speak text", "", example("voice", "list\n  studio voice list --language pt-BR --json"),
			[]cli.Flag{&cli.StringFlag{Name: "language", Usage: "list only the voices of this language, such as pt-BR"}}, p.listVoices))
}

func (p *program) listVoices(ctx context.Context, command *cli.Command, c *client.Client) error {
	list, err := c.ListVoices(ctx, client.ListVoicesParams{Language: flagValue[gen.LanguageFilter](command, "language")})
	if err != nil {
		return err
	}
	table := p.table(command, "ID", "LANGUAGE", "GENDER", "NAME")
	for _, v := range list.Data {
		_ = table.Add(v, v.VoiceID, v.Language, gen.Or(v.Gender, ""), v.Name) // Flush returns write errors
	}
	return table.Flush()
}
