package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// daemon is a process of studiod with metrics, encryption and logs enabled.
type daemon struct{ *harness.Daemon }

// startDaemon starts a daemon and waits until it serves. Its media files are in directory.
func startDaemon(ctx context.Context, program, dsn, directory string) (*daemon, error) {
	command := harness.Serve(ctx, []string{program}, dsn, "--renderer=simulate:0s", "--admin-addr", "127.0.0.1:0",
		"--media", "file:"+filepath.Join(directory, "media"))
	command.Env = append(os.Environ(), "STUDIO_KEYS="+newEncryptionKey())
	d, err := harness.StartDaemon(command)
	return &daemon{d}, err
}

// address returns the HOST:PORT of the API.
func (d *daemon) address() string { return strings.TrimPrefix(d.URL, "http://") }

// login logs in all users and reads their webhook secrets.
func (d *daemon) login(ctx context.Context, users []*user) error {
	p := newPool(d.address())
	defer p.close()
	for _, u := range users {
		var pair struct {
			AccessToken string `json:"access_token"`
		}
		var secrets struct{ Data []struct{ Secret string } }
		if err := p.sendJSON(ctx, rawRequest(http.MethodPost, "/users/login", "", `{"email":"`+u.email+`","password":"`+password+`"}`), &pair); err != nil {
			return err
		}
		u.token = pair.AccessToken
		if err := p.sendJSON(ctx, rawRequest(http.MethodGet, "/v1/webhooks/secret", u.authorization(), ""), &secrets); err != nil {
			return err
		}
		secret, err := webhook.ParseSecret(secrets.Data[0].Secret)
		if err != nil {
			return err
		}
		u.secret = secret
	}
	return nil
}

func (u *user) authorization() string { return "Authorization: Bearer " + u.token + "\r\n" }

// sendJSON sends a request and decodes the response, which must have the status 200.
func (p *pool) sendJSON(ctx context.Context, request string, response any) error {
	status, body, err := p.send(ctx, request)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", status, body)
	}
	return json.Unmarshal(body, response)
}

// scrapeMetrics reads the metrics periodically, as Prometheus does, until stop is called. stop returns the first error.
func (d *daemon) scrapeMetrics(ctx context.Context, period time.Duration) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				ended <- nil
				return
			}
			if _, err := d.get(ctx, "/metrics"); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// get returns the response of the admin address at a path.
func (d *daemon) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.AdminURL+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %s", path, response.Status)
	}
	return body.Bytes(), nil
}

// serveBare serves a fixed body with net/http until the end of its input. It reads the length of the body, a newline
// and the body from in, and writes its address to out.
func serveBare(ctx context.Context, _ []string, in io.Reader, out io.Writer) error {
	reader := bufio.NewReader(in)
	var length int
	if _, err := fmt.Fscanln(reader, &length); err != nil {
		return err
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(reader, body); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})}
	fmt.Fprintln(out, listener.Addr())
	go func() { _ = server.Serve(listener) }()
	_, _ = io.Copy(io.Discard, reader)
	return server.Close()
}

// startBare starts serveBare in a separate process, and returns its address.
func startBare(ctx context.Context, body []byte) (child *harness.Child, address string, err error) {
	child, err = harness.StartChild(ctx)
	if err != nil {
		return nil, "", err
	}
	if _, err = fmt.Fprintf(child.In, "%d\n%s", len(body), body); err == nil {
		_, err = fmt.Fscanln(child.Out, &address)
	}
	if err != nil {
		return nil, "", errors.Join(err, child.Close())
	}
	return child, address, nil
}
