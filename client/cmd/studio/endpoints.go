package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) endpointCommand() *cli.Command {
	return group("endpoint", "list, pause and enable webhook URLs", example("endpoint", "list"),
		p.serviceLeaf("list", "list the registered webhook URLs", "", example("endpoint", "list --json"),
			[]cli.Flag{&cli.IntFlag{Name: "limit", Usage: "maximum number of URLs to list", DefaultText: "all", Validator: positive}}, p.listEndpoints),
		p.setEndpointCommand("pause", "pause a webhook URL; its events wait", gen.EndpointSwitchPaused),
		p.setEndpointCommand("enable", "enable a webhook URL that is paused or disabled", gen.EndpointSwitchEnabled))
}

func (p *program) listEndpoints(ctx context.Context, command *cli.Command, c *client.Client) error {
	table, unheard := p.table(command, "ID", "STATE", "SINCE", "REASON", "WAITING", "EXHAUSTED", "LAST SUCCESS", "URL"), false
	most, limit := limits(command)
	err := printRows(table, most, c.Endpoints(ctx, client.ListEndpointsParams{Limit: &limit}), func(e *gen.Endpoint) []string {
		unheard = unheard || e.State == gen.EndpointStateFailing && e.LastSuccessAt == nil
		return endpointRow(e)
	})
	if err == nil && unheard && !command.Bool("json") {
		_, err = fmt.Fprintln(p.Stderr, `a failing URL has never accepted a notification; "studio listen" prints events without a receiver`)
	}
	return err
}

func (p *program) setEndpointCommand(name, usage string, state gen.EndpointSwitch) *cli.Command {
	return p.serviceLeaf(name, usage+`; ID is an id of "studio endpoint list"`, "ID", example("endpoint", name+" ID"), nil,
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			endpoint, err := c.SetEndpoint(ctx, gen.SetEndpointRequest{EndpointID: command.Args().First(), State: state})
			if err != nil {
				return err
			}
			table := p.table(command)
			_ = table.Add(endpoint, endpointRow(endpoint)...) // Flush returns write errors
			return table.Flush()
		})
}

func endpointRow(e *gen.Endpoint) []string {
	return []string{
		e.EndpointID, string(e.State), stamp(cmp.Or(e.PausedAt, e.FailingSince)), gen.Or(e.DisabledReason, ""),
		strconv.FormatInt(e.Waiting, 10), strconv.FormatInt(e.Exhausted, 10), stamp(e.LastSuccessAt), e.URL,
	}
}
