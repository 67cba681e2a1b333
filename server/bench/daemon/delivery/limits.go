package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

const (
	hostilePorts = 64
	deadline     = 15 * time.Second // timeout of an attempt
)

// hostileResponses sends one event to each of many receivers that send hostile responses.
func hostileResponses(ctx context.Context, s *setup) ([]figure, error) {
	// The memory that the same number of ordinary events needs is not counted.
	if err := s.warm(ctx, hostilePorts); err != nil {
		return nil, err
	}
	s.d.ResetPeak()
	before, _ := s.d.Memory()
	if err := s.d.create(ctx, 0, hostilePorts, s.receiver.urls[hostile]); err != nil {
		return nil, err
	}
	if err := s.db.attempted(ctx, 2*hostilePorts); err != nil {
		return nil, err
	}
	_, peak := s.d.Memory()
	micros, err := s.db.number(ctx, `SELECT MAX(duration) FROM attempts`)
	if err != nil {
		return nil, err
	}
	longest, growth := time.Duration(micros)*time.Microsecond, peak-before
	name := fmt.Sprintf("%d concurrent hostile responses", hostilePorts)
	return []figure{
		{name + ": longest attempt", "≤ 15.5 s", fmt.Sprintf("%.2f s", longest.Seconds()), longest <= deadline+500*time.Millisecond},
		{name + ": memory", "growth < 64 MiB", measure.Mebibytes(growth), growth < 64<<20},
	}, nil
}

// warm starts a daemon and lets it deliver some events.
func (s *setup) warm(ctx context.Context, events int) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.d.create(ctx, 0, events, s.receiver.urls[accepts]); err != nil {
		return err
	}
	if _, err := s.receiver.waitAll(events, time.Minute, false); err != nil {
		return err
	}
	return s.db.delivered(ctx)
}

// idle measures the CPU time and memory of an idle daemon.
func idle(ctx context.Context, s *setup) ([]figure, error) {
	if err := s.warm(ctx, 1); err != nil {
		return nil, err
	}
	used := s.d.CPU()
	if err := sleep(ctx, s.idle); err != nil {
		return nil, err
	}
	share := 100 * (s.d.CPU() - used).Seconds() / s.idle.Seconds()
	limit := 1.0
	if s.db.Name == measure.PostgreSQL {
		limit = 3
	}
	memory, _ := s.d.Memory()
	return []figure{
		{fmt.Sprintf("idle for %v: CPU usage", s.idle), fmt.Sprintf("< %.0f %% of one CPU", limit), fmt.Sprintf("%.2f %%", share), share < limit},
		{"idle: memory", "", measure.Mebibytes(memory), true},
	}, s.d.Stop()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// projects measures the listing of a workspace with many projects.
func projects(ctx context.Context, s *setup) ([]figure, error) {
	workspace, err := s.db.studiod(ctx, "", "workspace", "add", "Bench")
	if err != nil {
		return nil, err
	}
	if _, err := s.db.studiod(ctx, "", "workspace", "member", workspace, email); err != nil {
		return nil, err
	}
	if err := s.db.seedProjects(ctx, workspace, s.projects); err != nil {
		return nil, err
	}
	token, err := s.startAndLogin(ctx)
	if err != nil {
		return nil, err
	}
	s.d.ResetPeak()
	before, _ := s.d.Memory()
	var firsts []float64
	for range s.rounds {
		first, err := s.d.listProjects(ctx, token, workspace, s.projects)
		if err != nil {
			return nil, err
		}
		firsts = append(firsts, float64(first))
	}
	_, peak := s.d.Memory()
	first := time.Duration(median(firsts))
	name := fmt.Sprintf("GET /projects/v2 with %s projects", measure.Thousands(s.projects))
	return []figure{
		{name + ": time to first byte", "≤ 50 ms", measure.Milliseconds(first), first <= 50*time.Millisecond},
		{name + ": memory", "< 40 MiB above idle", measure.Mebibytes(peak - before), peak-before < 40<<20},
	}, s.d.Stop()
}

func (d *daemon) login(ctx context.Context, email string) (token string, err error) {
	body, err := json.Marshal(map[string]string{"email": email, "password": password})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL+"/users/login", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := new(http.Transport).RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	var pair struct {
		AccessToken string `json:"access_token"`
	}
	return pair.AccessToken, json.NewDecoder(response.Body).Decode(&pair)
}

// listProjects lists the projects of a workspace and returns the time to the first byte of the response body.
func (d *daemon) listProjects(ctx context.Context, token, workspace string, want int) (first time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL+"/projects/v2", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("X-Workspace-Id", workspace)
	began := time.Now()
	response, err := new(http.Transport).RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.ReadFull(response.Body, make([]byte, 1)); err != nil {
		return 0, err
	}
	first = time.Since(began)
	rest, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if got := strings.Count(string(rest), `"project_id"`); response.StatusCode != http.StatusOK || got != want {
		return 0, fmt.Errorf("%s with %d projects, want %d", response.Status, got, want)
	}
	return first, nil
}
