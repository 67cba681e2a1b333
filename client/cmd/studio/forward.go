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
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	// The last attempt is about two and a half minutes after the first.
	forwardAttempts   = 10
	firstForwardDelay = time.Second
	maxForwardDelay   = 30 * time.Second

	// maxForwarding limits the events that wait. While so many wait, no further ones are read.
	maxForwarding = 1000
)

// listenToStream prints the events of the service, and posts them to --forward, until it is interrupted.
func (p *program) listenToStream(ctx context.Context, command *cli.Command, c *client.Client) error {
	f := &streamForwarder{
		client: c, printer: printer{program: p, json: command.Bool("json")},
		room: make(chan struct{}, maxForwarding), waiting: map[string][]notification{},
	}
	var err error
	if text := command.String("forward"); text != "" {
		if f.target, err = receiverURL(text); err != nil {
			return err
		}
		if f.secrets, err = secretsOf(ctx, c); err != nil {
			return err
		}
	}
	events, err := p.follow(ctx, command, c)
	if err != nil {
		return err
	}
	if f.target != nil {
		shown := &url.URL{Scheme: f.target.Scheme, Host: f.target.Host, Path: f.target.Path} // the rest may hold a secret
		_, _ = fmt.Fprintf(p.Stderr, "forwarding events to %s, signed with the secrets of \"studio webhook secret\"\n", shown)
	} else {
		_, _ = fmt.Fprintln(p.Stderr, "waiting for events")
	}
	ctx, stop := context.WithCancel(ctx)
	defer f.forwarding.Wait()
	defer stop()
	for event, err := range events {
		if err != nil {
			return err
		}
		if err := f.add(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// streamForwarder posts events to a URL. Those of an avatar, video or lip-sync are posted in order.
type streamForwarder struct {
	printer

	client  *client.Client
	target  *url.URL         // nil to print the events only
	secrets []webhook.Secret // of the beginning
	room    chan struct{}

	mu         sync.Mutex
	waiting    map[string][]notification // by subject; each has a goroutine
	forwarding sync.WaitGroup
}

// add prints an event, or lets it wait for those of the same subject.
func (f *streamForwarder) add(ctx context.Context, event *gen.EventRecord) error {
	body, err := encodeNotification(event.Notification)
	if err != nil {
		return err
	}
	n := notification{EventID: event.EventID, Sequence: event.Sequence, Event: body}
	if f.target == nil {
		f.print(n, "")
		return nil
	}
	select {
	case f.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	about := subjectOf(event.Notification).id()
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting, runs := f.waiting[about]
	f.waiting[about] = append(waiting, n)
	if !runs {
		f.forwarding.Go(func() { f.forwardAll(ctx, about) })
	}
	return nil
}

// forwardAll posts the events of a subject until none waits.
func (f *streamForwarder) forwardAll(ctx context.Context, about string) {
	for {
		f.mu.Lock()
		waiting := f.waiting[about]
		if len(waiting) == 0 {
			delete(f.waiting, about)
			f.mu.Unlock()
			return
		}
		f.waiting[about] = waiting[1:]
		f.mu.Unlock()
		f.forward(ctx, waiting[0])
		<-f.room
	}
}

// forward posts an event until it is accepted, or was posted forwardAttempts times.
func (f *streamForwarder) forward(ctx context.Context, n notification) {
	delay, secrets := cmp.Or(f.retry.BaseDelay, firstForwardDelay), f.secrets
	for attempt := 1; ctx.Err() == nil; attempt++ {
		err := f.post(ctx, f.target, &n, secrets)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && n.Status/100 == 2:
			f.print(n, "")
			return
		case attempt == forwardAttempts:
			f.print(n, ", given up")
			return
		}
		f.print(n, ", again in "+delay.String())
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
		delay = min(2*delay, maxForwardDelay)
		// The receiver may know only a new secret. The old ones remain active for a day.
		if current, err := secretsOf(ctx, f.client); err == nil {
			secrets = current
		}
	}
}

// post sends a notification like the service and sets the status of the response.
func (p *program) post(ctx context.Context, target *url.URL, n *notification, secrets []webhook.Secret) error {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(n.Event))
	if err != nil {
		return err
	}
	request.URL, request.Host = target, target.Host
	at := time.Now()
	n.Status, n.Timestamp = 0, strconv.FormatInt(at.Unix(), 10)
	if err := webhook.Sign(request.Header, n.EventID, at, n.Event, secrets...); err != nil {
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

// receiverURL parses --forward.
func receiverURL(text string) (*url.URL, error) {
	target, err := weburl.Parse(text)
	if err != nil {
		return nil, usagef("--forward %w", err)
	}
	return target, nil
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

// encodeNotification returns the JSON of a notification with its members in the order of the service.
func encodeNotification(notification gen.Event) (json.RawMessage, error) {
	return json.Marshal(struct {
		EventType gen.EventType `json:"event_type"`
		Data      gen.EventData `json:"data"`
	}{notification.EventType, notification.Data})
}
