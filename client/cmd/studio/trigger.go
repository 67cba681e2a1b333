package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
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
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	id := uuid.NewString()
	at := time.Now()
	if len(secrets) == 0 {
		request.Header.Set(webhook.HeaderID, id)
		request.Header.Set(webhook.HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	} else if err := webhook.Sign(request.Header, id, at, body, secrets...); err != nil {
		return err
	}
	sequence := strconv.FormatInt(command.Int64("sequence"), 10)
	request.Header.Set(webhook.HeaderSequence, sequence)
	request.Header.Set("Content-Type", "application/json")
	response, err := p.transport.RoundTrip(request) // follows no redirects, like the service
	if err != nil {
		return fmt.Errorf("no response from %s: %w", target.Host, err)
	}
	_ = response.Body.Close()
	if command.Bool("json") {
		err = commandline.PrintJSON(p.Stdout, notification{id, sequence, request.Header.Get(webhook.HeaderTimestamp), response.StatusCode, body})
	} else {
		_, err = fmt.Fprintf(p.Stdout, "%s -> %d\n", body, response.StatusCode)
	}
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("the receiver responded with %d", response.StatusCode)
	}
	return err
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
	return json.Marshal(struct {
		EventType gen.EventType `json:"event_type"`
		Data      gen.EventData `json:"data"`
	}{event.EventType, event.Data})
}

// eventNames returns the event types of the document.
func eventNames() string {
	var names []string
	for _, eventType := range gen.EventTypes() {
		names = append(names, string(eventType))
	}
	return strings.Join(names, ", ")
}
