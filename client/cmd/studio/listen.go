package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/net/netutil"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	listenAddress = "127.0.0.1:9000"

	maxNotification   = 1 << 20 // limit of client/webhook
	maxHeaderBytes    = 64 << 10
	maxConnections    = 64
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = time.Minute
	stopTimeout       = 5 * time.Second
)

func (p *program) listenCommand() *cli.Command {
	return leaf("listen", "print events as they occur, and forward them like notifications", "", `  studio listen --forward http://127.0.0.1:3000/webhooks
  studio listen --since 1h --json
  studio listen --addr 127.0.0.1:9000 --secret-file secret.txt --forward http://127.0.0.1:3000/webhooks

Without --addr, the events come from the service, and no public URL is needed. They are signed like notifications,
posted up to 10 times until the response is a success, and in order for each avatar, video and lip-sync.`,
		serviceFlags(
			&cli.StringFlag{Name: "forward", Usage: "URL to post each event to"},
			sinceFlag(),
			&cli.StringFlag{Name: "addr", Usage: "receive notifications at this address, such as " + listenAddress + ", instead; the response of --forward is returned"},
			secretFileFlag(),
			&cli.BoolFlag{Name: "unverified", Usage: "with --addr, accept notifications without checking signatures"},
		), p.listen)
}

func (p *program) listen(ctx context.Context, command *cli.Command) error {
	if command.IsSet("addr") {
		return p.listenToNotifications(ctx, command)
	}
	for _, name := range []string{"secret-file", "unverified"} {
		if command.IsSet(name) {
			return usagef("--%s needs --addr", name)
		}
	}
	return p.listenToStream(ctx, command)
}

// listenToNotifications receives the notifications that are sent to --addr.
func (p *program) listenToNotifications(ctx context.Context, command *cli.Command) error {
	if command.IsSet("since") {
		return usagef("use either --addr or --since")
	}
	secrets, err := p.secrets(command, "unverified")
	if err != nil {
		return err
	}
	l := &listener{printer: printer{program: p, json: command.Bool("json")}, secrets: secrets}
	if text := command.String("forward"); text != "" {
		target, err := receiverURL("--forward", text)
		if err != nil {
			return err
		}
		l.forward = p.forwarder(target)
	}
	address := command.String("addr")
	if _, _, err := net.SplitHostPort(address); err != nil {
		return usagef("--addr must be HOST:PORT, such as %s", listenAddress)
	}
	port, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           l,
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	_, _ = fmt.Fprintf(p.Stderr, "listening on http://%s/\n", port.Addr())
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if server.Shutdown(stopCtx) != nil {
			_ = server.Close()
		}
	})()
	err = server.Serve(netutil.LimitListener(port, maxConnections))
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return ctx.Err()
	}
	return err
}

// receiverURL parses the URL of a receiver in a flag.
func receiverURL(flag, text string) (*url.URL, error) {
	target, err := weburl.Parse(text)
	if err != nil {
		return nil, usagef("%s %w", flag, err)
	}
	return target, nil
}

// forwarder returns a handler that forwards requests unchanged to target and returns its responses. It
// does not follow redirects.
func (p *program) forwarder(target *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL, r.Out.Host = target, target.Host
		},
		Transport:    p.transport,
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), responseTimeout)
		defer cancel()
		proxy.ServeHTTP(w, r.WithContext(ctx))
	})
}

// listener prints every notification, including duplicates, which a [webhook.Receiver] would drop.
type listener struct {
	printer

	secrets []webhook.Secret // empty to accept unsigned notifications
	forward http.Handler     // nil to accept every notification
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotification))
	if err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		l.reject(w, status, err)
		return
	}
	if len(l.secrets) > 0 {
		if err := webhook.Verify(r.Header, body, time.Now(), l.secrets...); err != nil {
			l.reject(w, http.StatusUnauthorized, err)
			return
		}
	}
	var event gen.Event
	if err := json.Unmarshal(body, &event); err != nil || event.EventType == "" {
		l.reject(w, http.StatusBadRequest, webhook.ErrMalformed)
		return
	}
	response := &statusWriter{ResponseWriter: w}
	if l.forward == nil {
		response.WriteHeader(http.StatusNoContent)
	} else {
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		l.forward.ServeHTTP(response, r)
	}
	l.print(notification{
		r.Header.Get(webhook.HeaderID), sequenceOf(r.Header), r.Header.Get(webhook.HeaderTimestamp), response.status, body,
	}, "")
}

func (l *listener) reject(w http.ResponseWriter, status int, err error) {
	w.WriteHeader(status)
	l.printing.Lock()
	defer l.printing.Unlock()
	_, _ = fmt.Fprintf(l.Stderr, "rejected with %d: %s\n", status, commandline.Printable(err.Error()))
}

// notification is the JSON of a notification for --json.
type notification struct {
	EventID   string          `json:"event_id"`
	Sequence  json.Number     `json:"sequence,omitempty"`
	Timestamp string          `json:"timestamp,omitempty"`
	Status    int             `json:"status,omitempty"` // of the response, if there was one
	Event     json.RawMessage `json:"event"`
}

// sequenceOf returns the sequence in the headers of a notification, or "" if it is not a number.
func sequenceOf(header http.Header) json.Number {
	sequence := header.Get(webhook.HeaderSequence)
	if _, err := strconv.ParseUint(sequence, 10, 63); err != nil {
		return ""
	}
	return json.Number(sequence)
}

// printer prints notifications for concurrent callers.
type printer struct {
	*program

	json     bool
	printing sync.Mutex
}

// print prints a notification. What follows is printed after the status, but not with --json.
func (p *printer) print(n notification, follows string) {
	p.printing.Lock()
	defer p.printing.Unlock()
	if p.json {
		_ = commandline.PrintJSON(p.Stdout, n)
		return
	}
	var event gen.Event
	_ = json.Unmarshal(n.Event, &event) // was decoded before
	line := describe(event, string(n.Sequence))
	switch {
	case n.Status > 0:
		line += " -> " + strconv.Itoa(n.Status)
	case n.Timestamp != "":
		line += " -> no response"
	}
	_, _ = fmt.Fprintln(p.Stdout, line+follows)
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter

	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}
