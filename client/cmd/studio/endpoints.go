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

func (p *program) endpointCommand() *cli.Command {
	return &cli.Command{
		Name: "endpoint", Usage: "list, pause and enable webhook URLs",
		Description: "Examples:\n" + example("endpoint", "list"),
		Commands: []*cli.Command{
			p.serviceLeaf("list", "list the registered webhook URLs", "", example("endpoint", "list --json"), nil, p.listEndpoints),
			p.setEndpointCommand("pause", "pause a webhook URL; its events wait", gen.EndpointSwitchPaused),
			p.setEndpointCommand("enable", "enable a webhook URL that is paused or disabled", gen.EndpointSwitchEnabled),
		},
	}
}

func (p *program) listEndpoints(ctx context.Context, command *cli.Command, c *client.Client) error {
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	if !command.Bool("json") {
		_, _ = fmt.Fprintln(table, endpointHeader)
	}
	for endpoint, err := range c.Endpoints(ctx) {
		if err != nil {
			return err
		}
		if err := p.printEndpoint(command, table, endpoint); err != nil {
			return err
		}
	}
	return table.Flush()
}

func (p *program) setEndpointCommand(name, usage string, state gen.EndpointSwitch) *cli.Command {
	return p.serviceLeaf(name, usage+`; ID is an id of "studio endpoint list"`, "ID", example("endpoint", name+" ID"), nil,
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			endpoint, err := c.SetEndpoint(ctx, gen.SetEndpointRequest{EndpointID: command.Args().First(), State: state})
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
			if err := p.printEndpoint(command, table, endpoint); err != nil {
				return err
			}
			return table.Flush()
		})
}

const endpointHeader = "ID\tSTATE\tSINCE\tREASON\tWAITING\tEXHAUSTED\tLAST SUCCESS\tURL"

func (p *program) printEndpoint(command *cli.Command, table *tabwriter.Writer, e *gen.Endpoint) error {
	if command.Bool("json") {
		return commandline.PrintJSON(p.Stdout, e)
	}
	since := e.FailingSince
	if e.PausedAt != nil {
		since = e.PausedAt
	}
	_, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", printable(e.EndpointID), printable(string(e.State)), cell(stamp(since)),
		cell(e.DisabledReason), e.Waiting, e.Exhausted, cell(stamp(e.LastSuccessAt)), printable(e.URL))
	return err
}
