package main

import (
	"bytes"
	"cmp"
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
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/net/netutil"

	"github.com/avatarstudio/avatarstudio/api/commandline"
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
	return leaf("listen", "receive notifications, print them, and forward them", "", `  studio listen --secret-file secret.txt
  studio listen --unverified --json
  studio listen --secret-file secret.txt --forward http://127.0.0.1:3000/webhooks`,
		[]cli.Flag{
			&cli.StringFlag{Name: "addr", Usage: "address to listen on", Value: listenAddress},
			secretFileFlag(),
			&cli.BoolFlag{Name: "unverified", Usage: "accept notifications without checking signatures"},
			&cli.StringFlag{Name: "forward", Usage: "URL to forward each notification to; its response is returned"},
		}, p.listen)
}

func (p *program) listen(ctx context.Context, command *cli.Command) error {
	secrets, err := p.secrets(command, "unverified")
	if err != nil {
		return err
	}
	l := &listener{program: p, secrets: secrets, json: command.Bool("json")}
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
	target, err := url.Parse(text)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, usagef("%s must be an absolute http or https URL", flag)
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
	*program

	secrets []webhook.Secret // empty to accept unsigned notifications
	forward http.Handler     // nil to accept every notification
	json    bool

	mu sync.Mutex // held while printing
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
	l.print(r.Header, event, body, response.status)
}

func (l *listener) reject(w http.ResponseWriter, status int, err error) {
	w.WriteHeader(status)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.Stderr, "rejected with %d: %s\n", status, printable(err.Error()))
}

// notification is the JSON of a notification for --json.
type notification struct {
	WebhookID string          `json:"webhook_id"`
	Sequence  string          `json:"sequence,omitempty"`
	Timestamp string          `json:"timestamp,omitempty"`
	Status    int             `json:"status"` // status of the response
	Event     json.RawMessage `json:"event"`
}

func (l *listener) print(header http.Header, event gen.Event, body []byte, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sequence := header.Get(webhook.HeaderSequence)
	if l.json {
		_ = commandline.PrintJSON(l.Stdout, notification{
			header.Get(webhook.HeaderID), sequence, header.Get(webhook.HeaderTimestamp), status, body,
		})
		return
	}
	var about subject
	_ = json.Unmarshal(event.Data, &about) // an event that the document does not list may have any data
	words := []string{string(event.EventType), cmp.Or(about.id(), "-"), cmp.Or(about.Status, "-"), "#" + cmp.Or(sequence, "-")}
	_, _ = fmt.Fprintf(l.Stdout, "%s -> %d\n", printable(strings.Join(words, " ")), status)
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
