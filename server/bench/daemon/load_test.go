package daemon_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

const (
	maxLatency      = 100 * time.Millisecond // p99 of a sustained rate
	maxDelay        = time.Second            // of every event at a sustained rate
	drainTimeout    = 5 * time.Minute        // for events after the last request
	scrapeInterval  = 5 * time.Second        // of the metrics
	warmUp          = 10 * time.Second       // after which memory should not grow
	maxTries        = 5                      // of a rate, while other programs use the machine
	maxOthersCPU    = 0.3                    // CPUs that other programs may use
	minSustained    = 2000                   // creations per second, on a machine with quick transactions
	projectsPerUser = 20
	releaseInterval = 10 * time.Second // of unused memory by an idle process

	sqliteReaders       = 4  // connections of studiod that read
	postgresConnections = 14 // connections of studiod
)

// openLoad sends requests whose arrival times do not depend on responses.
type openLoad struct {
	*setup
	send   func(i int) (id string, err error) // the i-th request; returns the id of a created lip-sync, or ""
	helper int                                // process id of a process that belongs to the load; 0 for none
}

// startLoad starts a daemon with metrics, logs, encryption and additional flags, and logs in the users of an open load.
func (s *setup) startLoad(flags ...string) {
	s.t.Helper()
	waitIdle(s.idleWait)
	s.program = append([]string{"env", "STUDIO_KEYS=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}, s.program...)
	s.start(append(flags, "--admin-addr", "127.0.0.1:0", "--media", "file:"+filepath.Join(s.t.TempDir(), "media"))...)
	s.loginAll()
	admin, ended := measure.NewClient(s.d.AdminURL, 1), make(chan struct{})
	var scraping sync.WaitGroup
	scraping.Go(func() { // as Prometheus does
		defer admin.Close()
		ticker := time.NewTicker(scrapeInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ended:
				return
			}
			if _, err := admin.SendOK(measure.Request(http.MethodGet, "/metrics", "", "")); err != nil {
				s.t.Errorf("metrics: %v", err)
			}
		}
	})
	s.t.Cleanup(func() { close(ended); scraping.Wait() })
}

// creationLoad measures creations, with the renderings and deliveries that follow from them.
func creationLoad(s *setup) []figure {
	waitIdle(s.idleWait)
	floor := s.floorRate()
	s.startLoad()
	s.receiveForAll()
	load := openLoad{s, s.createInTurn, s.receiver.PID()}
	r := load.measure(s.creations, s.creationDuration)
	highest, found := load.search(s.creations)
	onTime := 0
	for _, delay := range r.delays {
		if delay <= maxDelay {
			onTime++
		}
	}
	share, least := 100*float64(onTime)/float64(max(len(r.delays), 1)), s.targets().sustained
	prefix := fmt.Sprintf("%s creations/s for %v: ", thousands(s.creations), s.creationDuration)
	return []figure{
		{"floor: durable transactions of one row, 16 callers", "", perSecond(floor), true},
		{prefix + "latency", "p99 ≤ 100 ms", r.latencies.String(), r.latencies.percentile(99) <= maxLatency},
		{prefix + "errors", "0", fmt.Sprintf("%d of %s", r.errors, thousands(len(r.latencies))), r.errors == 0},
		{prefix + "events delivered within 1 s", "100 %", fmt.Sprintf("%.2f %%", share), onTime == len(r.delays)},
		{prefix + "delay of events", "max ≤ 1 s", r.delays.String(), onTime == len(r.delays)},
		{prefix + "memory after " + warmUpOf(s.creationDuration).String() + " and at the end", "", mebibytes(r.warmMemory) + ", " + mebibytes(r.endMemory), true},
		{prefix + "CPU", "", r.usage.String(), true},
		{
			"highest sustained rate of creations, for " + s.searchStep.String(), fmt.Sprintf("≥ %s/s, or %v × the floor", thousands(minSustained), least),
			fmt.Sprintf("%s/s (%.2f × the floor); %s", thousands(highest), float64(highest)/floor, found),
			highest >= minSustained || float64(highest) >= least*floor,
		},
	}
}

// listLoad measures project lists.
func listLoad(s *setup) []figure {
	s.startLoad()
	for _, u := range s.users {
		s.seedProjects(u, projectsPerUser, fullProject)
	}
	load := openLoad{setup: s, send: s.sendLists(s.client)}
	r := load.measure(s.lists, s.listDuration)
	highest, found := load.search(s.lists)

	body, err := s.client.SendOK(s.users[0].listProjects())
	check(s.t, err)
	floor, floorFound := s.bareLists(bareConfig{Body: string(body)})
	reads, readsFound := s.bareLists(bareConfig{DSN: s.dsn})
	prefix := fmt.Sprintf("%s lists/s of %d projects for %v: ", thousands(s.lists), projectsPerUser, s.listDuration)
	ofFloor, ofReads := float64(highest)/float64(max(floor, 1)), float64(highest)/float64(max(reads, 1))
	return []figure{
		{"floor: highest sustained rate of a bare net/http handler with the same response", "", fmt.Sprintf("%s/s; %s", thousands(floor), floorFound), true},
		{
			"floor: highest sustained rate of a bare net/http handler that reads the same projects with one query", "",
			fmt.Sprintf("%s/s (%.2f × the bare handler); %s", thousands(reads), float64(reads)/float64(max(floor, 1)), readsFound), true,
		},
		{prefix + "latency", "p99 ≤ 100 ms", r.latencies.String(), r.latencies.percentile(99) <= maxLatency},
		{prefix + "errors", "0", fmt.Sprintf("%d of %s", r.errors, thousands(len(r.latencies))), r.errors == 0},
		{prefix + "CPU", "", r.usage.String(), true},
		{
			"highest sustained rate of lists, for " + s.searchStep.String(), "≥ 0.8 × the bare handler that reads them",
			fmt.Sprintf("%s/s (%.2f × the bare handler that reads them, %.2f × the bare handler); %s", thousands(highest), ofReads, ofFloor, found),
			ofReads >= 0.8,
		},
	}
}

// bareLists returns the highest sustained rate of lists of a bare handler, and its latencies.
func (s *setup) bareLists(cfg bareConfig) (highest int, latencies string) {
	s.t.Helper()
	url, child := s.startBare(cfg)
	bare := measure.NewClient(url, maxConnections)
	highest, latencies = openLoad{setup: s, send: s.sendLists(bare), helper: child.PID()}.search(s.lists)
	bare.Close()
	check(s.t, child.Close())
	return highest, latencies
}

// sendLists returns a function that lists the projects of the users in turn.
func (s *setup) sendLists(client *measure.Client) func(i int) (string, error) {
	return func(i int) (string, error) {
		body, err := client.SendOK(s.users[i%len(s.users)].listProjects())
		if n := bytes.Count(body, []byte(`"project_id"`)); err == nil && n != projectsPerUser {
			err = fmt.Errorf("%d projects: %.200s", n, body)
		}
		return "", err
	}
}

// bareRole is the argument of a child that is a bare handler.
const bareRole = "bare"

// bareConfig configures a bare handler. Its response is the body or, with a DSN, the projects of a workspace in the
// database.
type bareConfig struct{ Body, DSN string }

func (s *setup) startBare(cfg bareConfig) (url string, child *harness.Child) {
	s.t.Helper()
	child, err := harness.StartChild(context.Background(), bareRole)
	check(s.t, err)
	check(s.t, json.NewEncoder(child.In).Encode(cfg))
	url, err = child.Out.ReadString('\n')
	check(s.t, err)
	return strings.TrimSpace(url), child
}

// runBare serves a bareConfig with net/http until the end of its input, and streams without items at [streamPath].
func runBare(in io.Reader, out io.Writer) error {
	var cfg bareConfig
	if err := json.NewDecoder(in).Decode(&cfg); err != nil {
		return err
	}
	var list func(ctx context.Context, workspace string) ([]byte, error)
	if cfg.DSN != "" {
		var err error
		if list, err = listDocuments(cfg.DSN); err != nil {
			return err
		}
	}
	release := sync.OnceFunc(func() { // unused memory, as studiod does when it is idle
		go func() {
			for range time.Tick(releaseInterval) {
				debug.FreeOSMemory()
			}
		}()
	})
	url, server, err := measure.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == streamPath {
			release()
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		body := []byte(cfg.Body)
		if list != nil {
			var err error
			if body, err = list(r.Context(), r.Header.Get("X-Workspace-Id")); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body))) // as studiod does
		_, _ = w.Write(body)
	}))
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintln(out, url)
	_, err = io.Copy(io.Discard, in)
	return err
}

// listDocuments returns a function that reads the documents of the projects in a workspace. It does no more than that,
// so it shows what the database and its driver cost.
func listDocuments(dsn string) (func(ctx context.Context, workspace string) ([]byte, error), error) {
	const query = `SELECT document FROM projects WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC LIMIT 33`
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=query_only(true)")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(sqliteReaders)
		db.SetMaxIdleConns(sqliteReaders)
		statement, err := db.Prepare(query)
		return func(ctx context.Context, workspace string) ([]byte, error) {
			rows, err := statement.QueryContext(ctx, workspace)
			if err != nil {
				return nil, err
			}
			defer func() { _ = rows.Close() }()
			return joinDocuments(rows)
		}, err
	}
	pool, err := pgxpool.New(context.Background(), dsn+"&pool_max_conns="+strconv.Itoa(postgresConnections))
	return func(ctx context.Context, workspace string) ([]byte, error) {
		rows, err := pool.Query(ctx, query, workspace)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		return joinDocuments(rows)
	}, err
}

// joinDocuments returns the response with the documents of rows.
func joinDocuments(rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
},
) ([]byte, error) {
	body := make([]byte, 0, 32<<10)
	var document string
	for separator := `{"data":[`; rows.Next(); separator = "," {
		if err := rows.Scan(&document); err != nil {
			return nil, err
		}
		body = append(append(body, separator...), document...)
	}
	return append(body, `]}`...), rows.Err()
}
