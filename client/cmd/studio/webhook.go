package main

import (
	"cmp"
	"context"
	"fmt"

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
