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

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// receivers receive and verify the webhooks of each user on a separate port, which is a separate origin. They store
// when the event of each lip-sync was received.
type receivers struct {
	urls    []string // by user
	servers []*http.Server

	mu         sync.Mutex
	ids        map[string]struct{}  // of events
	receivedAt map[string]time.Time // by lip-sync
	err        error                // of the first invalid request
}

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// startReceivers starts a receiver for each user.
func startReceivers(ctx context.Context, users []*user) (*receivers, error) {
	r := &receivers{}
	r.reset()
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
		go func() { _ = server.Serve(listener) }()
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

// reset removes the received events.
func (r *receivers) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids, r.receivedAt = make(map[string]struct{}), make(map[string]time.Time)
}

func (r *receivers) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// receive verifies a request to the receiver of a user and stores its event.
func (r *receivers) receive(request *http.Request, u *user) error {
	now := time.Now()
	body, err := io.ReadAll(io.LimitReader(request.Body, maxBody))
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
		return fmt.Errorf("unexpected event %s", bytes.TrimSpace(body))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := request.Header.Get(webhook.HeaderID)
	if _, known := r.ids[id]; known {
		return fmt.Errorf("event %s is duplicated", id)
	}
	r.ids[id] = struct{}{}
	if _, known := r.receivedAt[event.Data.ID]; known {
		return fmt.Errorf("lip-sync %s has two events", event.Data.ID)
	}
	r.receivedAt[event.Data.ID] = now
	return nil
}

// waitAll waits until the events of so many lip-syncs were received, and returns the times by lip-sync.
func (r *receivers) waitAll(ctx context.Context, lipsyncs int, maxWait time.Duration) (map[string]time.Time, error) {
	done := harness.Poll(ctx, maxWait, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.receivedAt) >= lipsyncs || r.err != nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if !done {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("%d events of %d were received within %v", len(r.receivedAt), lipsyncs, maxWait))
	}
	return r.receivedAt, r.err
}
