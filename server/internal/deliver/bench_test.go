package deliver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// benchmarkService is a service with a real sender and receivers on loopback ports. Nothing is rendered.
type benchmarkService struct {
	dsn       string
	db        *store.Store
	studio    *studio.Service
	user      studio.User
	sender    *sender.Sender
	receivers []*httptest.Server
}

// startService opens a service and starts receivers that answer with handle.
func startService(b testing.TB, dsn string, receivers int, handle http.HandlerFunc) *benchmarkService {
	b.Helper()
	s := &benchmarkService{dsn: dsn}
	s.db = studiotest.Open(b, s.dsn)
	s.studio = studio.New(studiotest.Config(s.db, time.Now))
	s.user = studiotest.AddUser(b, s.studio, "ada@example.com")
	if _, err := s.studio.WebhookSecrets(b.Context(), s.user.ID); err != nil {
		b.Fatal(err)
	}
	for range receivers {
		receiver := httptest.NewServer(handle)
		b.Cleanup(receiver.Close)
		s.receivers = append(s.receivers, receiver)
	}
	var err error
	s.sender, err = sender.New(sender.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	check(b, err)
	b.Cleanup(s.sender.Close)
	return s
}

// run runs a deliverer with the limits of cfg until the returned function is called.
func (s *benchmarkService) run(cfg deliver.Config) (stop func()) { return start(s.deliverer(cfg)) }

func (s *benchmarkService) deliverer(cfg deliver.Config) *deliver.Deliverer {
	cfg.Store, cfg.Studio, cfg.Sender = s.db, s.studio, s.sender
	return deliver.New(cfg)
}

// singleRowRate returns how many transactions of one row the database commits per second, one at a time.
func (s *benchmarkService) singleRowRate(b testing.TB) float64 {
	b.Helper()
	db := studiotest.OpenSQL(b, s.dsn)
	if _, err := db.ExecContext(b.Context(), `CREATE TABLE floor (n INTEGER)`); err != nil {
		b.Fatal(err)
	}
	const rows = 500
	began := time.Now()
	for i := range rows {
		if _, err := db.ExecContext(b.Context(), `INSERT INTO floor VALUES ($1)`, i); err != nil {
			b.Fatal(err)
		}
	}
	return rows / time.Since(began).Seconds()
}

// benchmarkEachDatabase runs a benchmark on SQLite and on a PostgreSQL cluster with default settings.
func benchmarkEachDatabase(b *testing.B, bench func(b *testing.B, dsn string)) {
	b.Helper()
	b.Run("SQLite", func(b *testing.B) { bench(b, studiotest.NewSQLite(b)) })
	b.Run("PostgreSQL", func(b *testing.B) {
		cluster := studiotest.NewCluster(b)
		bench(b, strings.ReplaceAll(studiotest.NewSchema(b, cluster.DSN), "pool_max_conns=8", "pool_max_conns=16"))
	})
}

// BenchmarkDeliverer_throughput measures the deliveries of one process to receivers in the same process. It
// also reports the rate of single-row transactions on the same database.
func BenchmarkDeliverer_throughput(b *testing.B) { benchmarkEachDatabase(b, measureThroughput) }

func measureThroughput(b *testing.B, dsn string) {
	b.Helper()
	var received atomic.Int64
	done := make(chan struct{})
	s := startService(b, dsn, 32, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		if received.Add(1) == int64(b.N) {
			close(done)
		}
	})
	floor := s.singleRowRate(b)
	for i, receiver := range s.receivers {
		seed(b, s.dsn, s.user.ID, (b.N+i)/len(s.receivers), receiver.URL)
	}
	b.ResetTimer()
	stop := s.run(deliver.Config{Rate: 10_000, InFlight: 64})
	<-done
	stop() // which waits until every attempt is recorded
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(floor, "rows/s")
}

// BenchmarkDeliverer_latency measures the time from the commit of an event to its arrival, at 100 events a
// second for eight receivers, while other events wait for a receiver that never answers.
func BenchmarkDeliverer_latency(b *testing.B) {
	for _, waiting := range []int{0, 64, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			benchmarkEachDatabase(b, func(b *testing.B, dsn string) { measureLatency(b, dsn, waiting) })
		})
	}
}

func measureLatency(b *testing.B, dsn string, waiting int) {
	b.Helper()
	arrivals := make(chan time.Time, 1000)
	s := startService(b, dsn, 8, func(http.ResponseWriter, *http.Request) { arrivals <- time.Now() })
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the sender disconnected
		<-r.Context().Done()
	}))
	b.Cleanup(hung.Close)
	if waiting > 0 {
		seed(b, s.dsn, s.user.ID, waiting, hung.URL)
	}
	defer s.run(deliver.Config{})()
	var latencies []time.Duration
	ticker := time.NewTicker(time.Second / 50)
	defer ticker.Stop()
	for i := range b.N {
		<-ticker.C
		_, err := s.studio.CreateAvatar(b.Context(), studio.Creation{
			UserID: s.user.ID, Request: []byte(`{}`),
			Webhook: studio.Registration{URL: s.receivers[i%len(s.receivers)].URL, Enabled: true},
		})
		committed := time.Now()
		check(b, err)
		latencies = append(latencies, max((<-arrivals).Sub(committed), 0))
		<-arrivals // the event of the rendering
	}
	reportMillis(b, latencies)
	resident, _ := harness.Memory(os.Getpid())
	b.ReportMetric(float64(resident)/(1<<20), "MiB")
}

// BenchmarkStore_Deliveries measures the read of the next events of one flow, while other events wait for
// another origin.
func BenchmarkStore_Deliveries(b *testing.B) {
	for _, waiting := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			s := startService(b, studiotest.NewSQLite(b), 0, nil)
			const url, origin = "https://hooks.example.com/", "https://hooks.example.com"
			seed(b, s.dsn, s.user.ID, 10, url)
			if waiting > 0 {
				seed(b, s.dsn, s.user.ID, waiting, hungURL)
			}
			var latencies []time.Duration
			for b.Loop() {
				began := time.Now()
				due, err := s.db.Deliveries(b.Context(), []store.DeliveryQuery{{Flow: store.Flow{UserID: s.user.ID, Origin: origin}, Limit: 5}})
				if err != nil || len(due[0]) != 5 {
					b.Fatal(due, err)
				}
				latencies = append(latencies, time.Since(began))
			}
			reportMillis(b, latencies)
		})
	}
}

func reportMillis(b *testing.B, latencies []time.Duration) {
	b.Helper()
	slices.Sort(latencies)
	b.ReportMetric(float64(latencies[len(latencies)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(latencies[len(latencies)*99/100].Microseconds())/1000, "p99-ms")
}
