package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

const (
	wantedThroughput = 1500 // deliveries in a second
	posters          = 64   // of the floor
)

// throughput measures how fast a backlog is delivered to receivers that answer at once, beside the
// two floors.
func throughput(ctx context.Context, s *scene) ([]figure, error) {
	var rates, singles, transactions, requests []float64
	for round := range s.rounds {
		n, err := s.db.floor(ctx, s.floor)
		if err != nil {
			return nil, err
		}
		transactions = append(transactions, n)
		if n, err = s.postFloor(ctx); err != nil {
			return nil, err
		}
		requests = append(requests, n)
		if n, err = s.drain(ctx, batch{name: fmt.Sprintf("many%d", round), subjects: s.backlog}, s.ports); err != nil {
			return nil, err
		}
		rates = append(rates, n)
		if n, err = s.drain(ctx, batch{name: fmt.Sprintf("one%d", round), subjects: s.single}, 1); err != nil {
			return nil, err
		}
		singles = append(singles, n)
	}
	rate, transaction, request := median(rates), median(transactions), median(requests)
	return []figure{
		{"floor: transactions of one row, 16 callers", "", fmt.Sprintf("%.0f/s", transaction), true},
		{"floor: requests to the receiver, 64 connections", "", fmt.Sprintf("%.0f/s", request), true},
		{
			fmt.Sprintf("deliveries, %d origins that answer at once", s.ports), "≥ 1,500/s",
			fmt.Sprintf("%.0f/s (%.2f × transactions, %.2f × requests)", rate, rate/transaction, rate/request), rate >= wantedThroughput,
		},
		{"deliveries, one origin, at its limit of 50/s", "", fmt.Sprintf("%.0f/s", median(singles)), true},
	}, nil
}

// drain seeds a batch for some origins, serves, and returns the rate at which the events arrive.
func (s *scene) drain(ctx context.Context, b batch, origins int) (rate float64, err error) {
	if _, err := s.in.forget(); err != nil {
		return 0, err
	}
	b.urls, b.events = s.in.urls[accepts][:origins], 1
	if err := s.db.seed(ctx, b); err != nil {
		return 0, err
	}
	t, err := s.finish(ctx, b.subjects)
	return t.rate(), err
}

// postFloor returns how many requests the receiver takes in a second from a plain loop.
func (s *scene) postFloor(ctx context.Context) (float64, error) {
	secret, err := webhook.ParseSecret(s.db.secret)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: posters}
	defer transport.CloseIdleConnections()
	return perSecond(posters, s.floor, func() error {
		status, err := post(ctx, transport, s.in.urls[accepts][0], "floor", 1, secret)
		if err == nil && status != http.StatusNoContent {
			err = fmt.Errorf("the receiver answers %d", status)
		}
		return err
	})
}

// post sends an event of the subject "floor" as plainly as can be.
func post(ctx context.Context, to http.RoundTripper, url, id string, sequence int, secret webhook.Secret) (status int, err error) {
	body := []byte(`{"event_type":"lipsync_inference_event","data":{"inference_id":"floor","status":"succeeded"}}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if err := webhook.Sign(request.Header, id, time.Now(), body, secret); err != nil {
		return 0, err
	}
	request.Header.Set(webhook.HeaderSequence, strconv.Itoa(sequence))
	response, err := to.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}
