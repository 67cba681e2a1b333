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
	minEvents   = 2500 // per second, created and delivered
	minTogether = 0.8  // of the rate at which two creations and a delivery would be made one after the other
	// maxCreationCPU is the CPU time of a creation in the processes of the database.
	maxCreationCPU = 350 * time.Microsecond
	// rendering is the time of renderings in the measurement from a creation to its event.
	rendering  = time.Second
	heavyTitle = 800_000 // bytes of the title of each avatar that one user creates over many connections
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

// createConcurrently creates lip-syncs from [callers] callers. It returns how many it created and their cost.
func (s *setup) createConcurrently() (created int, cost drained) {
	s.t.Helper()
	urls, next := s.receiver.urls[accepts], atomic.Int64{}
	cost = s.cost(func() (rate float64, n int) {
		rate = measure.PerSecond(s.t, callers, s.creating, func() error {
			_, err := s.createLipsync(s.users[0], urls[int(next.Add(1))%len(urls)])
			return err
		})
		return rate, int(next.Load())
	})
	return int(next.Load()), cost
}

// createAndDeliver creates lip-syncs and returns the delivered events per second and their cost, measured from the
// first creation.
func (s *setup) createAndDeliver() drained {
	s.t.Helper()
	s.receiver.reset()
	s.start()
	defer s.stop()
	// The previous daemon was killed. On PostgreSQL, its lease has to expire first.
	s.create(fastRate, 1, s.receiver.urls[accepts])
	s.receiver.await(1, time.Minute)
	s.receiver.reset()
	d := s.cost(func() (rate float64, n int) {
		began := time.Now()
		n, _ = s.createConcurrently()
		t := s.receiver.await(n, 2*time.Minute)
		return float64(t.Accepted) / t.Last.Sub(began).Seconds(), n
	})
	s.awaitDelivered()
	return d
}

// createdToReceived measures the time from the response to a creation to the arrival of its event, without its
// rendering.
func createdToReceived(s *setup) []figure {
	s.start("--renderer=simulate:" + rendering.String())
	all := make([]summary, s.rounds)
	for i := range all {
		_, all[i] = s.paceCreations(pacedRate, s.paced, rendering)
	}
	l := medians(all)
	return []figure{{
		fmt.Sprintf("latency from the response to a creation, without its rendering of %v, at 50 creations/s", rendering), fmt.Sprintf("p99 ≤ %v", s.targets().created), l.String(), l.p99 <= s.targets().created,
	}}
}

// largeCreations measures the creations of one user while another user creates very large avatars over many
// connections.
func largeCreations(s *setup) []figure {
	heavy := s.addUsers("heavy", 1)[0]
	s.start()
	s.login(heavy)
	without, _ := s.paceCreations(besideCreations, s.besideHung, 0)

	client := measure.NewClient(s.d.URL, s.heavyConnections)
	defer client.Close()
	title := strings.Repeat("a", heavyTitle)
	var all sync.WaitGroup
	var ended atomic.Bool
	var accepted, rejected atomic.Int64
	for range s.heavyConnections {
		all.Go(func() {
			for !ended.Load() {
				switch status, _, err := client.Send(heavy.post("/v1/avatars/create_avatar", `{"title":"`+title+`"}`)); {
				case err != nil: // the daemon closed the connection
				case status == http.StatusOK:
					accepted.Add(1)
				default:
					rejected.Add(1)
				}
			}
		})
	}
	s.d.ResetPeak()
	began := time.Now()
	with, _ := s.paceCreations(besideCreations, s.besideHung, 0)
	took := time.Since(began).Seconds()
	_, peak := s.d.Memory()
	ended.Store(true)
	all.Wait()
	name := fmt.Sprintf("with %d connections of another user who creates avatars of %s kB: ", s.heavyConnections, thousands(heavyTitle/1000))
	return []figure{
		{name + "latency of creations", "p99 ≤ 100 ms", fmt.Sprintf("%v; without them %v", with, without), with.p99 <= maxBeside},
		{
			name + "creations of the other user, and memory", "", fmt.Sprintf("%.0f/s, and %.0f/s rejected; %s",
				float64(accepted.Load())/took, float64(rejected.Load())/took, mebibytes(peak)), true,
		},
	}
}

// paceCreations creates lip-syncs at a rate per second, whose renderings take a time. It returns the latencies of the
// calls, and those from each response to the arrival of its event, without the rendering.
func (s *setup) paceCreations(rate, n int, rendering time.Duration) (calls, events summary) {
	s.t.Helper()
	s.receiver.reset()
	all := s.create(rate, n, s.receiver.urls[accepts])
	t := s.receiver.await(n, 2*time.Minute)
	var took, delays latencies
	for _, c := range all {
		took, delays = append(took, c.took), append(delays, t.Arrivals[c.id].Sub(c.at)-rendering)
	}
	return took.summary(), delays.summary()
}
