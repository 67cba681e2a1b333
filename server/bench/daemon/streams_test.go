package daemon_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

const (
	streamPath       = "/v1/events/stream"
	maxStreamMemory  = 1.5  // factor of the memory of a stream of the bare handler, which is almost 25 KiB
	maxBesideStreams = 2    // factor of the p99 of other requests
	minBesideStreams = 0.95 // share of the deliveries
	maxItemBytes     = 1 << 20
	// streamConnections is the flag of studiod, which limits the connections of one address to half of it.
	streamConnections = "40000"
	eventsPerAvatar   = 3
	// streamAddresses is the number of addresses that streams come from, because studiod limits the connections of
	// each.
	streamAddresses = 4
)

// streams are open streams of events. They read until they are closed.
type streams struct {
	open    []net.Conn
	reading sync.WaitGroup

	mu     sync.Mutex
	begun  int // streams that have their position
	ended  int
	items  map[string]int // by event
	delays latencies      // from the time of an event to the arrival of its item
}

// openStreams opens n streams of users in turn, at the URL of a daemon or of a bare handler.
func (s *setup) openStreams(url string, users []*user, n int) *streams {
	s.t.Helper()
	all := &streams{items: make(map[string]int)}
	s.t.Cleanup(func() { all.close(0) })
	for i := range n {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%streamAddresses))}}
		conn, err := dialer.DialContext(s.t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
		check(s.t, err)
		all.open = append(all.open, conn)
		_, err = conn.Write(measure.Request(http.MethodGet, streamPath, users[i%len(users)].authorization(), ""))
		check(s.t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // the connection is closed
		check(s.t, err)
		if response.StatusCode != http.StatusOK {
			s.t.Fatalf("stream %d has the status %s", i, response.Status)
		}
		body := bufio.NewReader(response.Body)
		reader, err := stream.NewReader(body, response.Header.Get("Content-Type"), maxItemBytes)
		check(s.t, err)
		all.reading.Go(func() {
			if _, err := body.Peek(1); err == nil {
				all.mu.Lock()
				all.begun++
				all.mu.Unlock()
			}
			all.read(reader)
		})
	}
	return all
}

func (s *streams) read(r *stream.Reader) {
	for {
		frame, err := r.Next()
		arrived := time.Now()
		s.mu.Lock()
		if err != nil {
			s.ended++
			s.mu.Unlock()
			return
		}
		var item struct {
			EventID   string    `json:"event_id"`
			CreatedAt time.Time `json:"created_at"`
		}
		_ = json.Unmarshal(frame.Data, &item) // without an id, the item is missing
		s.items[item.EventID]++
		s.delays = append(s.delays, arrived.Sub(item.CreatedAt))
		s.mu.Unlock()
	}
}

// close closes all but the first n streams.
func (s *streams) close(n int) {
	for _, conn := range s.open[n:] {
		_ = conn.Close()
	}
	if s.open = s.open[:n]; n == 0 {
		s.reading.Wait()
	}
}

// streamLoad measures what open streams cost, and how soon they have an item for each event. On PostgreSQL, the events
// are those of another daemon.
func streamLoad(s *setup) []figure {
	waitIdle(s.idleWait)
	floor := s.commitAt(s.eventRate, s.streamDuration)
	// studiod accepts half as many connections as it may open files.
	var files syscall.Rlimit
	check(s.t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	s.streams = min(s.streams, int(min(files.Max, 1<<20)/2)-maxConnections)
	s.plan.users = s.streamUsers
	s.startLoad("--max-connections", streamConnections)
	for _, u := range s.users {
		s.seedProjects(u, projectsPerUser, fullProject)
	}
	lists := openLoad{setup: s, send: s.sendLists(s.client)}
	rate := s.lists / 10
	without := lists.measure(rate, s.listDuration)
	url, bare := s.startBare(bareConfig{})
	idle, bareMemory := s.weighStreams(url, bare.PID()) // which takes so long that studiod is idle
	idle.close(0)
	check(s.t, bare.Close())
	all, memory := s.weighStreams(s.d.URL, s.d.PID())
	with := lists.measure(rate, s.listDuration)
	ended := all.ended
	all.close(s.streamUsers)

	name, limit := fmt.Sprintf("%d events/s to %s streams: ", s.eventRate, thousands(s.streamUsers)), 20*time.Millisecond
	target := "p99 ≤ 20 ms"
	if s.database == postgreSQL {
		limit, target = 2*limit, "p99 ≤ 40 ms, with two daemons"
		s.start()
	}
	creations := openLoad{setup: s, send: func(i int) (string, error) {
		_, err := s.client.SendOK(s.users[i%len(s.users)].post("/v1/avatars/create_avatar", `{"title":"Ada","base_video_url":"https://media.example.com/ada.mp4"}`))
		return "", err
	}}
	r := creations.run(s.eventRate/eventsPerAvatar, s.streamDuration)
	if r.errors > 0 {
		s.t.Fatalf("%d creations fail: %v", r.errors, r.firstError)
	}
	events := eventsPerAvatar * len(r.latencies)
	harness.Eventually(s.t, "an item for each event", func() bool {
		all.mu.Lock()
		defer all.mu.Unlock()
		return len(all.items) >= events
	})
	all.close(0)
	if len(all.items) != events || len(all.delays) != events {
		s.t.Fatalf("%d items have %d events, want %d", len(all.delays), len(all.items), events)
	}
	open := fmt.Sprintf("%s open streams of %s users: ", thousands(s.streams), thousands(s.streamUsers))
	share := float64(memory) / float64(max(bareMemory, 1))
	p99, alone := with.latencies.percentile(99), without.latencies.percentile(99)
	return []figure{
		{fmt.Sprintf("floor: durable transactions of one row at %d/s", s.eventRate), "", floor.String(), true},
		{"floor: memory of each of as many streams of a bare net/http handler", "", kibibytes(bareMemory), true},
		{
			open + "memory of each", "≤ 1.5 × the floor", fmt.Sprintf("%s (%.2f × the floor)", kibibytes(memory), share), share <= maxStreamMemory,
		},
		{open + "streams that end by themselves", "0", strconv.Itoa(ended), ended == 0},
		{
			fmt.Sprintf("%slatency of %s lists/s", open, thousands(rate)), "p99 ≤ 2 × without streams",
			fmt.Sprintf("%v; without streams %v", with.latencies, without.latencies), p99 <= maxBesideStreams*alone,
		},
		{name + "from the record of an event to its item", target, all.delays.String(), all.delays.percentile(99) <= limit},
		{name + "latency of the creations", "", r.latencies.String(), true},
		{name + "CPU", "", r.usage.String(), true},
	}
}

// weighStreams opens streams at an idle process, and measures its memory for each when it is idle again.
func (s *setup) weighStreams(url string, pid int) (all *streams, memory int64) {
	s.t.Helper()
	before := harness.TreeMemory(pid)
	all = s.openStreams(url, s.users, s.streams)
	time.Sleep(s.settle)
	return all, (harness.TreeMemory(pid) - before) / int64(s.streams)
}

func kibibytes(n int64) string { return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10)) }

// commitAt measures the baseline of the database: the latencies of transactions that write one row each.
func (s *setup) commitAt(rate int, d time.Duration) latencies {
	s.t.Helper()
	s.exec(`CREATE TABLE floor (n BIGINT)`)
	defer s.exec(`DROP TABLE floor`)
	all := arrivals(rate, d)
	took := make(latencies, len(all))
	openLoop(all, func(i int, due time.Time) {
		if _, err := s.sql.ExecContext(s.t.Context(), `INSERT INTO floor VALUES ($1)`, i); err != nil {
			s.t.Error(err)
		}
		took[i] = time.Since(due)
	})
	return took
}

// deliveriesBesideStreams measures how fast a backlog of one user is delivered without streams, and beside streams of
// others. Each round measures both.
func deliveriesBesideStreams(s *setup) []figure {
	others := s.addUsers("user", s.streamUsers)
	s.start()
	for _, u := range others {
		s.login(u)
	}
	s.stop()
	var alone, beside []float64
	for range s.rounds {
		alone = append(alone, s.drainBeside(nil).rate)
		beside = append(beside, s.drainBeside(others).rate)
	}
	floor, name := measure.Median(alone), fmt.Sprintf("deliveries to %d origins", s.ports)
	rate := measure.Median(beside)
	return []figure{
		{"floor: " + name + " without streams", "", perSecond(floor), true},
		{
			fmt.Sprintf("%s beside %s streams", name, thousands(s.streamUsers)), "≥ 0.95 × the floor",
			fmt.Sprintf("%.0f/s (%.2f × the floor)", rate, rate/floor), rate >= minBesideStreams*floor,
		},
	}
}

// drainBeside is like drain, but the daemon is already running, with a stream of each user, when it inserts the events.
func (s *setup) drainBeside(users []*user) drained {
	s.t.Helper()
	s.receiver.reset()
	s.start(highRate, "--max-connections", streamConnections)
	defer s.stop()
	all := s.openStreams(s.d.URL, users, len(users))
	defer all.close(0)
	harness.Eventually(s.t, "streams without past events", func() bool {
		all.mu.Lock()
		defer all.mu.Unlock()
		return all.begun == len(users)
	})
	s.seedRunning(s.backlog)
	return s.measureDrain(s.backlog)
}
