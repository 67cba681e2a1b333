package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

const (
	// The last attempt is about a quarter of a minute after the first.
	forwardAttempts   = 5
	firstForwardDelay = time.Second
)

// listenToStream prints the events of the service, and posts them to --forward, until it is interrupted.
func (p *program) listenToStream(ctx context.Context, command *cli.Command, c *client.Client) error {
	show := &printer{program: p, json: command.Bool("json")}
	var target *url.URL // nil to print the events only
	var secrets []webhook.Secret
	if text := command.String("forward"); text != "" {
		var err error
		if target, err = weburl.Parse(text); err != nil {
			return usagef("--forward %w", err)
		}
		if secrets, err = secretsOf(ctx, c); err != nil {
			return err
		}
	}
	events, err := p.follow(ctx, command, c)
	if err != nil {
		return err
	}
	if target != nil {
		shown := &url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path} // the rest may hold a secret
		_, _ = fmt.Fprintf(p.Stderr, "forwarding events to %s, signed with the secrets of \"studio webhook secret\"\n", shown)
	} else {
		_, _ = fmt.Fprintln(p.Stderr, "waiting for events")
	}
	for event, err := range events {
		if err != nil {
			return err
		}
		n := notification{EventID: event.EventID, Sequence: event.Sequence, Event: event.Notification}
		if target == nil {
			err = show.print(n, "")
		} else {
			err = show.forward(ctx, c, target, n, secrets)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forward posts an event until it is accepted, or was posted forwardAttempts times.
func (p *printer) forward(ctx context.Context, c *client.Client, target *url.URL, n notification, secrets []webhook.Secret) error {
	delay := cmp.Or(p.retry.BaseDelay, firstForwardDelay)
	for attempt := 1; ; attempt++ {
		err := p.post(ctx, target, &n, secrets)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && n.Status/100 == 2:
			return p.print(n, "")
		case attempt == forwardAttempts:
			return p.print(n, ", given up")
		}
		if err := p.print(n, ", again in "+delay.String()); err != nil {
			return err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
		delay *= 2
		// The receiver may know only a new secret. The old ones remain active for a day.
		if current, err := secretsOf(ctx, c); err == nil {
			secrets = current
		}
	}
}

// post sends a notification like the service and sets the status of the response.
func (p *program) post(ctx context.Context, target *url.URL, n *notification, secrets []webhook.Secret) error {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	body, err := json.Marshal(n.Event)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.URL, request.Host = target, target.Host
	at := time.Now()
	n.Status, n.Timestamp = 0, strconv.FormatInt(at.Unix(), 10)
	if err := webhook.Sign(request.Header, n.EventID, at, body, secrets...); err != nil {
		return err
	}
	request.Header.Set(webhook.HeaderSequence, strconv.FormatInt(n.Sequence, 10))
	request.Header.Set("Content-Type", "application/json")
	response, err := p.transport.RoundTrip(request) // follows no redirects, like the service
	if err != nil {
		return err
	}
	n.Status = response.StatusCode
	return response.Body.Close()
}

// secretsOf returns the active webhook secrets of the user.
func secretsOf(ctx context.Context, c *client.Client) ([]webhook.Secret, error) {
	list, err := c.GetWebhookSecrets(ctx)
	if err != nil {
		return nil, err
	}
	secrets := make([]webhook.Secret, len(list.Data))
	for i, secret := range list.Data {
		if secrets[i], err = webhook.ParseSecret(secret.Secret); err != nil {
			return nil, err
		}
	}
	if len(secrets) == 0 {
		return nil, errors.New("the service has no secret for the signatures")
	}
	return secrets, nil
}
