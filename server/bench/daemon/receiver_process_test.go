package daemon_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// process verifies and counts the events that arrive at its ports. It is safe for concurrent use.
type process struct {
	mu       sync.Mutex
	tally    tally
	accepted map[string]bool  // events
	failed   map[string]bool  // events
	sequence map[string]int64 // of the last accepted event, by subject
}

func (p *process) reset() {
	p.tally = tally{Arrivals: make(map[string]time.Time)}
	p.accepted, p.failed, p.sequence = make(map[string]bool), make(map[string]bool), make(map[string]int64)
}

// fault returns how a port responds to events that must be signed with a secret.
func (p *process) fault(mode string, port int, secret webhook.Secret) http.Handler {
	huge := []faultserver.Fault{faultserver.GzipBomb(), faultserver.HugeBody(10_000_000_000), faultserver.HugeHeaders(1 << 20)}
	switch mode {
	case hangs:
		return faultserver.Hang()
	case floods:
		return huge[port%len(huge)]
	case hostile: // responses that try to exceed the deadline or the memory of the sender
		all := append(huge, faultserver.Hang(), faultserver.Stall(), faultserver.SlowHeaders(100*time.Millisecond),
			faultserver.SlowBody(100*time.Millisecond), faultserver.EndlessInformational())
		return all[port%len(all)]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(p.receive(r, mode, secret)) })
}

// receive verifies and counts a request. It returns the status of the response.
func (p *process) receive(request *http.Request, mode string, secret webhook.Secret) int {
	now := time.Now()
	body, err := io.ReadAll(request.Body)
	verified := errors.Join(err, webhook.Verify(request.Header, body, now, secret))
	sequence, err := strconv.ParseInt(request.Header.Get(webhook.HeaderSequence), 10, 64)
	var event struct {
		Data struct {
			AvatarID    string `json:"avatar_id"`
			InferenceID string `json:"inference_id"`
			Status      string `json:"status"`
		} `json:"data"`
	}
	err = errors.Join(verified, err, json.Unmarshal(body, &event))
	id, subject := request.Header.Get(webhook.HeaderID), cmp.Or(event.Data.InferenceID, event.Data.AvatarID)

	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || subject == "" || event.Data.Status == "failed" {
		p.tally.Wrong++
		p.tally.FirstWrong = cmp.Or(p.tally.FirstWrong, fmt.Sprintf("%s: %v", body, err))
		return http.StatusUnauthorized
	}
	// The last event may be repeated if the daemon was killed before it recorded the acceptance.
	if last := p.sequence[subject]; sequence != last && sequence != last+1 {
		p.tally.Inversions++
	}
	if mode == fails && strings.HasSuffix(id, "1") && !p.failed[id] {
		p.failed[id] = true
		p.tally.Failed++
		return http.StatusInternalServerError
	}
	p.sequence[subject] = max(p.sequence[subject], sequence)
	if p.accepted[id] {
		p.tally.Duplicates++
		return http.StatusNoContent
	}
	if len(p.accepted) == 0 {
		p.tally.First = now
	}
	p.accepted[id], p.tally.Last, p.tally.Arrivals[subject] = true, now, now
	return http.StatusNoContent
}

func (p *process) respond(q query) tally {
	harness.Poll(context.Background(), q.MaxWait, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.accepted) >= q.Accepted
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tally
	t.Accepted, t.Arrivals = len(p.accepted), nil
	if q.Arrivals {
		t.Arrivals = maps.Clone(p.tally.Arrivals)
	}
	if q.Reset {
		p.reset()
	}
	return t
}
