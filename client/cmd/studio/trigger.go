package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) triggerCommand() *cli.Command {
	return leaf("trigger", "send a test event to a receiver: "+eventNames(), "EVENT",
		`  studio trigger --secret-file secret.txt avatar_event
  studio trigger --secret-file secret.txt --status failed --to http://127.0.0.1:3000/webhooks lipsync_inference_event`,
		[]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "URL of the receiver", Value: "http://" + listenAddress + "/"},
			&cli.StringFlag{Name: "status", Usage: "status in the event", DefaultText: "the status in the example of the API document"},
			&cli.StringFlag{Name: "id", Usage: "id of the avatar, the video or the lip-sync", DefaultText: "random"},
			&cli.Int64Flag{Name: "sequence", Usage: "position of the event among the events of its avatar, video or lip-sync", Value: 1},
			secretFileFlag(),
			&cli.BoolFlag{Name: "unsigned", Usage: "send the event without a signature"},
		}, p.trigger)
}

func (p *program) trigger(ctx context.Context, command *cli.Command) error {
	body, err := sampleEvent(gen.EventType(command.Args().First()), cmp.Or(command.String("id"), uuid.NewString()), command.String("status"))
	if err != nil {
		return err
	}
	target, err := receiverURL("--to", command.String("to"))
	if err != nil {
		return err
	}
	secrets, err := p.secrets(command, "unsigned")
	if err != nil {
		return err
	}
	n := notification{EventID: uuid.NewString(), Sequence: json.Number(strconv.FormatInt(command.Int64("sequence"), 10)), Event: body}
	if err := p.post(ctx, target, &n, secrets); err != nil {
		return err
	}
	if command.Bool("json") {
		err = commandline.PrintJSON(p.Stdout, n)
	} else {
		_, err = fmt.Fprintf(p.Stdout, "%s -> %d\n", body, n.Status)
	}
	if err == nil && n.Status/100 != 2 {
		err = fmt.Errorf("the receiver responded with %d", n.Status)
	}
	return err
}

// post sends a notification like the service and sets the status of the response. Without secrets it is not signed.
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
	if len(secrets) == 0 {
		request.Header.Set(webhook.HeaderID, n.EventID)
		request.Header.Set(webhook.HeaderTimestamp, n.Timestamp)
	} else if err := webhook.Sign(request.Header, n.EventID, at, n.Event, secrets...); err != nil {
		return err
	}
	request.Header.Set(webhook.HeaderSequence, string(n.Sequence))
	request.Header.Set("Content-Type", "application/json")
	response, err := p.transport.RoundTrip(request) // follows no redirects, like the service
	if err != nil {
		return fmt.Errorf("no response from %s: %w", target.Host, err)
	}
	n.Status = response.StatusCode
	return response.Body.Close()
}

// sampleEvent returns an event with its members in the order of the service.
func sampleEvent(eventType gen.EventType, id, status string) ([]byte, error) {
	if !eventType.Valid() {
		return nil, usagef("unknown event type; see studio trigger --help")
	}
	event, ok := gen.SampleEvent(eventType, id, status)
	if !ok {
		return nil, usagef("--status must be a status that this event can have")
	}
	return encodeNotification(event)
}

// eventNames returns the event types of the document.
func eventNames() string {
	var names []string
	for _, eventType := range gen.EventTypes() {
		names = append(names, string(eventType))
	}
	return strings.Join(names, ", ")
}
