package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) webhookCommand() *cli.Command {
	return group("webhook", "show and rotate the webhook secrets, and test a receiver", example("webhook", "secret > secret.txt"),
		p.serviceLeaf("secret", "print the active secrets, newest first", "", example("webhook", "secret > secret.txt"), nil,
			p.webhookSecrets((*client.Client).GetWebhookSecrets)),
		p.serviceLeaf("rotate", "create a secret and print the active secrets; the previous ones stay active for 24 hours", "", example("webhook", "rotate > secret.txt"), nil,
			p.webhookSecrets((*client.Client).RotateWebhookSecret)),
		p.serviceLeaf("test", "send one sample notification from the service to a URL", "URL",
			example("webhook", "test https://hooks.example.com/\n  studio webhook test --event lipsync_inference_event https://hooks.example.com/"),
			[]cli.Flag{&cli.StringFlag{Name: "event", Usage: "event type: " + eventNames(), Value: string(gen.EventTypes()[0])}},
			p.testWebhook))
}

func (p *program) webhookSecrets(
	get func(*client.Client, context.Context, ...client.CallOption) (*gen.WebhookSecretList, error),
) serviceAction {
	return func(ctx context.Context, command *cli.Command, c *client.Client) error {
		list, err := get(c, ctx)
		if err != nil {
			return err
		}
		table := p.table(command)
		for _, secret := range list.Data {
			_ = table.Add(secret, secret.Secret) // Flush returns write errors
		}
		return table.Flush()
	}
}

func (p *program) testWebhook(ctx context.Context, command *cli.Command, c *client.Client) error {
	event := gen.EventType(command.String("event"))
	if !event.Valid() {
		return usagef("--event must be one of %s", eventNames())
	}
	attempt, err := c.TestWebhook(ctx, gen.WebhookTestRequest{WebhookURL: command.Args().First(), EventType: event})
	if err != nil {
		return err
	}
	outcome := commandline.Printable(gen.Or(attempt.Error, ""))
	if attempt.Status != nil {
		outcome = fmt.Sprint(*attempt.Status)
	}
	if command.Bool("json") {
		err = commandline.PrintJSON(p.Stdout, attempt)
	} else {
		_, err = fmt.Fprintf(p.Stdout, "%s -> %s in %d ms\n", event, outcome, attempt.DurationMs)
	}
	if err == nil && !attempt.Delivered {
		err = fmt.Errorf("the receiver did not accept the notification: %s", cmp.Or(failures[gen.Or(attempt.Error, "")], outcome))
	}
	return err
}

// failures are sentences for the errors of a gen.WebhookAttempt without a response.
//
//nolint:gochecknoglobals // a table
var failures = map[string]string{
	"blocked":  "the service does not send to this address",
	"dns":      "its host has no public address",
	"connect":  `no connection to it could be opened; "studio listen" prints notifications without a receiver`,
	"tls":      "the handshake failed, or its certificate is not trusted",
	"timeout":  "it did not respond in time",
	"reset":    "it ended the connection without a response",
	"protocol": "its response is not HTTP, or its headers are too large",
}

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
