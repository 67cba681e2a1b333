package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/net/netutil"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	listenAddress = "127.0.0.1:9000"

	maxHeaderBytes = 64 << 10
	maxConnections = 64
	readTimeout    = 15 * time.Second // also of headers, and of connections between requests
	writeTimeout   = 30 * time.Second
)

func (p *program) listenCommand() *cli.Command {
	return p.serviceLeaf("listen", "print events as they occur, and forward them like notifications", "", `  studio listen --forward http://127.0.0.1:3000/webhooks
  studio listen --since 1h --json
  studio listen --addr 127.0.0.1:9000

Without --addr, the events come from the service, and no public URL is needed. They are signed like notifications,
and posted in order, each up to 5 times until the response is a success.`,
		[]cli.Flag{
			&cli.StringFlag{Name: "forward", Usage: "URL to post each event to"},
			sinceFlag(),
			&cli.StringFlag{Name: "addr", Usage: "print the notifications that are sent to this address, such as " + listenAddress + ", instead"},
		}, p.listen)
}

func (p *program) listen(ctx context.Context, command *cli.Command, c *client.Client) error {
	if !command.IsSet("addr") {
		return p.listenToStream(ctx, command, c)
	}
	for _, name := range []string{"forward", "since"} {
		if command.IsSet(name) {
			return usagef("use either --addr or --%s", name)
		}
	}
	return p.listenToNotifications(ctx, command, c)
}

// listenToNotifications prints the notifications that are sent to --addr until it is interrupted.
func (p *program) listenToNotifications(ctx context.Context, command *cli.Command, c *client.Client) error {
	address := command.String("addr")
	if _, _, err := net.SplitHostPort(address); err != nil {
		return usagef("--addr must be HOST:PORT, such as %s", listenAddress)
	}
	secrets, err := secretsOf(ctx, c)
	if err != nil {
		return err
	}
	receiver, err := newListener(&printer{program: p, json: command.Bool("json")}, secrets)
	if err != nil {
		return err
	}
	port, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	server := &http.Server{
		Handler:        receiver,
		MaxHeaderBytes: maxHeaderBytes,
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	_, _ = fmt.Fprintf(p.Stderr, "listening on http://%s/\n", port.Addr())
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	err = server.Serve(netutil.LimitListener(port, maxConnections))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// newListener returns a receiver that prints every notification, those that come again and too late included.
func newListener(p *printer, secrets []webhook.Secret) (*webhook.Receiver, error) {
	show := func(_ context.Context, event gen.Event, delivery webhook.Delivery) error {
		at := strconv.FormatInt(delivery.Timestamp.Unix(), 10)
		return p.print(notification{delivery.ID, delivery.Sequence, at, http.StatusNoContent, event}, "")
	}
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Stale:     func(ctx context.Context, event gen.Event, delivery webhook.Delivery) { _ = show(ctx, event, delivery) },
		Unhandled: show, // if it fails, the service sends the notification again
	}, func(header http.Header, body []byte) error {
		err := webhook.Verify(header, body, time.Now(), secrets...)
		if err != nil {
			p.printing.Lock()
			defer p.printing.Unlock()
			_, _ = fmt.Fprintf(p.Stderr, "rejected with 401: %s\n", commandline.Printable(err.Error()))
		}
		return err
	})
	if err == nil {
		receiver.Claims = nil
	}
	return receiver, err
}

// notification is the JSON of a notification for --json.
type notification struct {
	EventID   string    `json:"event_id"`
	Sequence  int64     `json:"sequence,omitempty"`
	Timestamp string    `json:"timestamp,omitempty"`
	Status    int       `json:"status,omitempty"` // of the response, if there was one
	Event     gen.Event `json:"event"`
}

// printer prints notifications for concurrent callers.
type printer struct {
	*program

	json     bool
	printing sync.Mutex
}

// print prints a notification. What follows is printed after the status, but not with --json.
func (p *printer) print(n notification, follows string) error {
	p.printing.Lock()
	defer p.printing.Unlock()
	if p.json {
		return commandline.PrintJSON(p.Stdout, n)
	}
	about, number := subjectOf(n.Event), "-"
	if n.Sequence > 0 {
		number = strconv.FormatInt(n.Sequence, 10)
	}
	words := []string{cmp.Or(string(n.Event.EventType), "-"), cmp.Or(about.id(), "-"), cmp.Or(about.Status, "-"), "#" + number}
	line := commandline.Printable(strings.Join(words, " "))
	switch {
	case n.Status > 0:
		line += " -> " + strconv.Itoa(n.Status)
	case n.Timestamp != "":
		line += " -> no response"
	}
	_, err := fmt.Fprintln(p.Stdout, line+follows)
	return err
}
