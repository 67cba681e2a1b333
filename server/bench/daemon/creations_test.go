package daemon_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

const (
	minCreations = 1270 // per second, from 16 callers
	minEvents    = 2500 // per second, created and delivered
	// heavyConnections is the number of connections over which one user creates avatars with titles of heavyTitle bytes.
	heavyConnections = 300
	heavyTitle       = 800_000
	// besideCreations is the rate at which another user concurrently creates lip-syncs, per second.
	besideCreations = 10
)

// login gets a token for a user. The token stays valid when the daemon restarts.
func (s *setup) login(u *user) {
	s.t.Helper()
	body, err := s.client.SendOK(measure.Request(http.MethodPost, "/users/login", "Content-Type: application/json\r\n",
		`{"email":"`+u.email+`","password":"`+password+`"}`))
	check(s.t, err)
	var pair struct {
		AccessToken string `json:"access_token"`
	}
	check(s.t, json.Unmarshal(body, &pair))
	u.token = pair.AccessToken
}

// post returns a request with a body and a new idempotency key.
func (u *user) post(path, body string) []byte {
	return measure.Request(http.MethodPost, path, u.authorization()+"Content-Type: application/json\r\nIdempotency-Key: "+rand.Text()+"\r\n", body)
}

// createLipsync creates a lip-sync, whose event is sent to a URL, and returns its id.
func (s *setup) createLipsync(u *user, url string) (id string, err error) {
	body, err := s.client.SendOK(u.post("/v1/lipsync/create_lipsync", `{"title":"Greeting","video_url":"https://media.example.com/ada.mp4",`+
		`"audio_url":"https://media.example.com/hello.wav","webhook_data":{"webhook_url":"`+url+`"},"webhook":{"enabled":true}}`))
	if err != nil {
		return "", err
	}
	_, after, _ := bytes.Cut(body, []byte(`"inference_id":"`))
	created, _, found := bytes.Cut(after, []byte(`"`))
	if !found {
		return "", fmt.Errorf("no id: %.200s", body)
	}
	return string(created), nil
}

// creation is the creation of a lip-sync.
type creation struct {
	id   string
	at   time.Time // of the response
	took time.Duration
}

// create creates lip-syncs at a rate per second, which are rendered at once and have one event each. Their webhooks use
// the URLs in turn.
func (s *setup) create(rate, n int, urls []string) []creation {
	s.t.Helper()
	u := s.users[0]
	s.login(u)
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	var creating sync.WaitGroup
	all, errs := make([]creation, n), make([]error, n)
	for i := range n {
		creating.Go(func() {
			began := time.Now()
			all[i].id, errs[i] = s.createLipsync(u, urls[i%len(urls)])
			all[i].at, all[i].took = time.Now(), time.Since(began)
		})
		<-ticker.C
	}
	creating.Wait()
	check(s.t, errors.Join(errs...))
	return all
}

// createConcurrently creates lip-syncs from [callers] callers and returns how many it created per second.
func (s *setup) createConcurrently() (rate float64, created int) {
	s.t.Helper()
	urls, next := s.receiver.urls[accepts], atomic.Int64{}
	rate = measure.PerSecond(s.t, callers, s.creating, func() error {
		_, err := s.createLipsync(s.users[0], urls[int(next.Add(1))%len(urls)])
		return err
	})
	return rate, int(next.Load())
}

// creationRate measures the creations per second, each with a token, a webhook, an idempotency key and a title. It
// measures once without renderings, and once until the last event is delivered.
func creationRate(s *setup) []figure {
	var floors, alone, together []float64
	for range s.rounds {
		floors = append(floors, s.floorRate())
		s.start("--renderer=simulate:10m")
		s.login(s.users[0])
		rate, _ := s.createConcurrently()
		alone = append(alone, rate)
		check(s.t, s.d.Kill())
		s.exec(`DELETE FROM renderings`)
		together = append(together, s.createAndDeliver())
	}
	floor, creations, events := measure.Median(floors), measure.Median(alone), measure.Median(together)
	return []figure{
		{"floor: durable transactions of one row, 16 callers, before creations", "", perSecond(floor), true},
		{
			"creations over HTTP, 16 callers", fmt.Sprintf("≥ %d/s and 0.5 × the floor", minCreations),
			fmt.Sprintf("%.0f/s (%.2f × the floor)", creations, creations/floor), creations >= minCreations && creations >= floor/2,
		},
		{"creations, renderings and deliveries together", fmt.Sprintf("≥ %d events/s", minEvents), perSecond(events), events >= minEvents},
	}
}

// createAndDeliver creates lip-syncs and returns the delivered events per second, measured from the first creation.
func (s *setup) createAndDeliver() float64 {
	s.t.Helper()
	s.receiver.reset()
	s.start()
	defer s.stop()
	// The previous daemon was killed. On PostgreSQL, its lease has to expire first.
	s.create(fastRate, 1, s.receiver.urls[accepts])
	s.receiver.await(1, time.Minute)
	s.receiver.reset()
	began := time.Now()
	_, created := s.createConcurrently()
	t := s.receiver.await(created, 2*time.Minute)
	s.awaitDelivered()
	return float64(t.Accepted) / t.Last.Sub(began).Seconds()
}

// createdToReceived measures the time from the response to a creation to the arrival of its event.
func createdToReceived(s *setup) []figure {
	s.start()
	var p50s, p99s []time.Duration
	for range s.rounds {
		_, events := s.paceCreations(pacedRate, s.paced)
		p50s, p99s = append(p50s, events.p50), append(p99s, events.p99)
	}
	l := summary{measure.Median(p50s), measure.Median(p99s)}
	return []figure{{
		"latency from the response to a creation, at 50 creations/s", fmt.Sprintf("p99 ≤ %v", s.targets().created), l.String(), l.p99 <= s.targets().created,
	}}
}

// largeCreations measures the creations of one user while another user creates very large avatars over many connections.
func largeCreations(s *setup) []figure {
	heavy := s.addUsers("heavy", 1)[0]
	s.start()
	s.login(heavy)
	without, withoutEvents := s.paceCreations(besideCreations, s.besideHung)

	client := measure.NewClient(s.d.URL, heavyConnections)
	defer client.Close()
	title := strings.Repeat("a", heavyTitle)
	var all sync.WaitGroup
	var ended atomic.Bool
	var accepted, rejected atomic.Int64
	for range heavyConnections {
		all.Go(func() {
			for !ended.Load() {
				switch response, err := client.Send(heavy.post("/v1/avatars/create_avatar", `{"title":"`+title+`"}`)); {
				case err != nil: // the daemon closed the connection
				case response.Status == http.StatusOK:
					accepted.Add(1)
				default:
					rejected.Add(1)
				}
			}
		})
	}
	s.d.ResetPeak()
	began := time.Now()
	with, withEvents := s.paceCreations(besideCreations, s.besideHung)
	took := time.Since(began).Seconds()
	_, peak := s.d.Memory()
	rates := fmt.Sprintf("%.0f/s, and %.0f/s rejected", float64(accepted.Load())/took, float64(rejected.Load())/took)
	ended.Store(true)
	all.Wait()
	name := fmt.Sprintf("with %d connections of another user who creates avatars of %s kB: ", heavyConnections, thousands(heavyTitle/1000))
	return []figure{
		{name + "latency of creations", "p99 ≤ 100 ms", fmt.Sprintf("%v; without them %v", with, without), with.p99 <= maxBeside},
		{name + "latency from the response to a creation", "", fmt.Sprintf("%v; without them %v", withEvents, withoutEvents), true},
		{name + "creations of the other user", "", rates, true},
		{name + "memory", "", mebibytes(peak), true},
	}
}

// paceCreations creates lip-syncs at a rate per second. It returns the latencies of the calls, and those from each
// response to the arrival of its event.
func (s *setup) paceCreations(rate, n int) (calls, events summary) {
	s.t.Helper()
	s.receiver.reset()
	all := s.create(rate, n, s.receiver.urls[accepts])
	t := s.receiver.await(n, 2*time.Minute)
	var took, delays latencies
	for _, c := range all {
		took, delays = append(took, c.took), append(delays, t.Arrivals[c.id].Sub(c.at))
	}
	return took.summary(), delays.summary()
}
