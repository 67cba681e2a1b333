package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// receivers take the webhooks of each user at a port of his own, so that studiod has as many origins.
// They verify each, and keep when the event of each lip-sync came.
type receivers struct {
	urls    []string // by user
	servers []*http.Server

	mu      sync.Mutex
	ids     map[string]struct{} // of events
	arrived map[string]time.Time
	wrong   error // the first attempt that should not have been
}

// bodyLimit is more than any event has.
const bodyLimit = 64 << 10

// startReceivers starts one for each user, whose secrets are asked for at each webhook.
func startReceivers(ctx context.Context, users []*user) (*receivers, error) {
	r := &receivers{}
	r.forget()
	for _, u := range users {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if err := r.receive(request, u); err != nil {
				r.fail(err)
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		})}
		r.servers, r.urls = append(r.servers, server), append(r.urls, "http://"+listener.Addr().String()+"/")
		go func() { _ = server.Serve(listener) }() // until it is closed
	}
	return r, nil
}

func (r *receivers) close() error {
	var errs []error
	for _, server := range r.servers {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// forget begins anew; what comes later of before is an error.
func (r *receivers) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids, r.arrived = make(map[string]struct{}), make(map[string]time.Time)
}

func (r *receivers) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrong == nil {
		r.wrong = err
	}
}

// receive verifies a webhook to a user and keeps it.
func (r *receivers) receive(request *http.Request, u *user) error {
	now := time.Now()
	body, err := io.ReadAll(io.LimitReader(request.Body, bodyLimit))
	if err != nil {
		return err
	}
	if err := webhook.Verify(request.Header, body, now, u.secret); err != nil {
		return err
	}
	var event struct {
		Type string `json:"event_type"`
		Data struct {
			ID     string `json:"inference_id"`
			Status string `json:"status"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	if event.Type != "lipsync_inference_event" || event.Data.Status != "succeeded" {
		return fmt.Errorf("an event is %s", bytes.TrimSpace(body))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := request.Header.Get(webhook.HeaderID)
	if _, known := r.ids[id]; known {
		return fmt.Errorf("event %s came twice", id)
	}
	r.ids[id] = struct{}{}
	if _, known := r.arrived[event.Data.ID]; known {
		return fmt.Errorf("lip-sync %s has two events", event.Data.ID)
	}
	r.arrived[event.Data.ID] = now
	return nil
}

// all returns when the event of each lip-sync came, once all have come.
func (r *receivers) all(ctx context.Context, lipsyncs int, patience time.Duration) (map[string]time.Time, error) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(patience)
	for {
		r.mu.Lock()
		arrived, n, wrong := r.arrived, len(r.arrived), r.wrong
		r.mu.Unlock()
		if n >= lipsyncs || wrong != nil {
			return arrived, wrong
		}
		select {
		case <-ticker.C:
		case <-timeout:
			return nil, fmt.Errorf("%d events of %d came within %v", n, lipsyncs, patience)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
