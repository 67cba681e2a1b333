package jobs_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/jobs"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		loadDivisor = max(loadDivisor, 10)
		if err := flag.Set("test.parallel", "6"); err != nil { // tests on PostgreSQL mostly wait for timers
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

var check = harness.Check

// receiver is a Sender that records its messages. A test sets its answers.
type receiver struct {
	now    func() time.Time
	answer func(message sender.Message, try int) sender.Attempt

	mu   sync.Mutex
	sent []delivery
}

type delivery struct {
	sender.Message
	at time.Time
}

func (r *receiver) Send(_ context.Context, message sender.Message) sender.Attempt {
	r.mu.Lock()
	try := 1
	for _, earlier := range r.sent {
		if earlier.ID == message.ID {
			try++
		}
	}
	r.sent = append(r.sent, delivery{message, r.now()})
	r.mu.Unlock()
	attempt := sender.Attempt{Status: 200}
	if r.answer != nil {
		attempt = r.answer(message, try)
	}
	attempt.At = r.now()
	return attempt
}

func (r *receiver) deliveries() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

// statuses returns the statuses in the events of a subject, in the order of the attempts.
func (r *receiver) statuses(subjectID string) []string {
	var all []string
	for _, d := range r.deliveries() {
		if body := string(d.Body); strings.Contains(body, subjectID) {
			_, status, _ := strings.Cut(body, `"status":"`)
			all = append(all, strings.TrimSuffix(status, `"}}`))
		}
	}
	return all
}

// rendererFunc is a Renderer that calls a function.
type rendererFunc func(ctx context.Context, subject studio.Subject) (studio.Rendering, error)

func (f rendererFunc) Render(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
	return f(ctx, subject)
}

// fixture is a service on a database with a fake sender and a fake renderer.
type fixture struct {
	t           *testing.T
	dsn         string
	now         func() time.Time
	work        func(d time.Duration) // runs a runner for d
	db          *store.Store
	studio      *studio.Service
	user        studio.User
	receiver    *receiver
	sender      jobs.Sender // the receiver, unless a test has its own
	renderer    rendererFunc
	config      jobs.Config
	soleProcess bool // on PostgreSQL in a synctest bubble
}

// onEachDatabase runs a test on SQLite and on PostgreSQL, each in a synctest bubble.
func onEachDatabase(t *testing.T, test func(s *fixture)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		runOnSQLite(t, test)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		onPostgresBubble(t, test)
	})
}

// onSQLite runs a test on SQLite in a synctest bubble.
func onSQLite(t *testing.T, test func(s *fixture)) {
	t.Helper()
	t.Parallel()
	runOnSQLite(t, test)
}

// runOnSQLite is onSQLite without Parallel, for subtests.
func runOnSQLite(t *testing.T, test func(s *fixture)) {
	t.Helper()
	dsn := studiotest.NewSQLite(t)
	synctest.Test(t, func(t *testing.T) {
		s := &fixture{t: t, dsn: dsn, now: time.Now}
		s.work = s.workInBubble
		s.run(test)
	})
}

// onPostgresBubble runs a test on PostgreSQL in a synctest bubble, with one process.
func onPostgresBubble(t *testing.T, test func(s *fixture)) {
	t.Helper()
	// A pool replaces its connections every hour, and hundreds of hours pass in the bubble.
	dsn := studiotest.NewPostgres(t) + "&pool_max_conn_lifetime=10000h&pool_max_conn_idle_time=10000h&pool_health_check_period=10000h"
	synctest.Test(t, func(t *testing.T) {
		s := &fixture{t: t, dsn: dsn, now: time.Now, soleProcess: true}
		s.work = s.workInBubble
		s.run(test)
	})
}

func (s *fixture) run(test func(s *fixture)) {
	s.receiver = &receiver{now: s.now}
	s.sender = s.receiver
	s.renderer = func(context.Context, studio.Subject) (studio.Rendering, error) { return studio.Rendering{}, nil }
	s.open()
	s.user = studiotest.AddUser(s.t, s.studio, "ada@example.com")
	test(s)
	broken, err := s.db.Check(s.t.Context())
	if err != nil {
		s.t.Error(err)
	}
	for _, violation := range broken {
		s.t.Error(violation)
	}
	s.close()
}

func (s *fixture) open() {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), s.dsn, store.Config{Daemon: true})
	check(s.t, err)
	s.db = db
	cfg := studiotest.Config(db, s.now)
	cfg.AutoConsent = func(studio.Subject) bool { return true }
	s.studio = studio.New(cfg)
}

func (s *fixture) close() {
	if err := s.db.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *fixture) jobs() *jobs.Jobs {
	cfg := s.config
	cfg.Store, cfg.Studio, cfg.Sender, cfg.Renderer, cfg.RenderTimeout = s.db, s.studio, s.sender, s.renderer, time.Minute
	cfg.Now = s.now
	return jobs.New(cfg)
}

func (s *fixture) workInBubble(d time.Duration) {
	s.t.Helper()
	local := jobs.NewRunner(s.jobs())
	local.SetRescanInterval(time.Hour) // so that the tests depend on notifications and due times
	if s.soleProcess {
		local.SetSoleProcess()
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		local.Run(ctx, ctx)
	}()
	time.Sleep(d) // in the bubble this takes no real time
	cancel()
	<-done
}

func (s *fixture) create() studio.Subject {
	s.t.Helper()
	return s.createFor("https://hooks.example.com/")
}

func (s *fixture) createFor(url string) studio.Subject {
	s.t.Helper()
	subject, err := s.studio.CreateAvatar(s.t.Context(), studio.Creation{
		UserID: s.user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: url, Enabled: true},
	})
	check(s.t, err)
	return subject
}

func (s *fixture) status(id string) studio.Status {
	s.t.Helper()
	subject, err := s.db.Subject(s.t.Context(), id)
	check(s.t, err)
	return subject.Status
}

func (s *fixture) wantStatuses(id string, want ...string) {
	s.t.Helper()
	if got := s.receiver.statuses(id); !slices.Equal(got, want) {
		s.t.Errorf("attempts were made to deliver %v, want %v", got, want)
	}
}

func TestRunner_Run_rendersAndDeliversImmediately(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		began := s.now()
		avatar := s.create()
		s.work(time.Second)
		s.wantStatuses(avatar.ID, "processing", "consent_pending", "published")
		for _, d := range s.receiver.deliveries() {
			if wait := d.at.Sub(began); wait > time.Second/2 {
				s.t.Errorf("event %d was sent after %v", d.Sequence, wait)
			}
		}
	})
}

func TestSQLite_deliversSubjectsCreatedWhileRunning(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		var avatar studio.Subject
		var created time.Time
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(10 * time.Second)
			created = time.Now()
			avatar = s.create()
		}()
		s.work(20 * time.Second)
		<-done
		s.wantStatuses(avatar.ID, "processing", "consent_pending", "published")
		if wait := s.receiver.deliveries()[0].at.Sub(created); wait != 0 {
			s.t.Errorf("the first event was sent after %v", wait)
		}
	})
}

func TestRunner_Run_deliversTheEventsOfASubjectInOrder(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		slow, quick := s.create(), s.create()
		s.receiver.answer = func(message sender.Message, try int) sender.Attempt {
			if strings.Contains(string(message.Body), slow.ID) && message.Sequence == 1 && try < 3 {
				return sender.Attempt{Status: 500, Failure: sender.FailureStatus}
			}
			return sender.Attempt{Status: 200}
		}
		s.work(4 * time.Second)
		s.wantStatuses(slow.ID, "processing")
		s.wantStatuses(quick.ID, "processing", "consent_pending", "published")
		s.work(time.Minute)
		s.wantStatuses(slow.ID, "processing", "processing", "processing", "consent_pending", "published")
	})
}

// The clock advances with every reading, so other work becomes due during each scan.
func TestSQLite_startsWorkThatBecomesDueDuringAScan(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		const subjects, maxReadings = 200, 1_000_000
		s.receiver.answer = func(message sender.Message, try int) sender.Attempt {
			if message.Sequence == 1 && try == 1 {
				return sender.Attempt{Status: 500, Failure: sender.FailureStatus}
			}
			return sender.Attempt{Status: 200}
		}
		s.config = jobs.Config{Rate: 100_000, InFlight: 200, BreakAfter: 1000}
		for range subjects {
			s.create()
		}
		var readings atomic.Int64
		local := jobs.NewRunner(s.jobs())
		local.SetClock(func() time.Time {
			if readings.Add(1) == maxReadings {
				panic("startDue does not return")
			}
			return time.Now().Add(time.Duration(readings.Load()) * 100 * time.Microsecond)
		})
		stop := start(local)
		time.Sleep(time.Minute)
		stop()
		if n := s.pending(); n > 0 {
			s.t.Errorf("%d events are not delivered", n)
		}
	})
}

func TestRunner_Run_sendsTheSameIDAndBodyInEveryAttempt(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		s.receiver.answer = func(_ sender.Message, try int) sender.Attempt {
			if try < 3 {
				return sender.Attempt{Failure: sender.FailureConnect}
			}
			return sender.Attempt{Status: 204}
		}
		s.create()
		s.work(10 * time.Minute)
		events := make(map[string]string)
		for _, d := range s.receiver.deliveries() {
			if body, known := events[d.ID]; known && body != string(d.Body) {
				s.t.Errorf("event %s was sent as %s and as %s", d.ID, body, d.Body)
			}
			events[d.ID] = string(d.Body)
		}
		if len(events) != 3 || len(s.receiver.deliveries()) != 9 {
			s.t.Errorf("%d events in %d attempts, want 3 in 9", len(events), len(s.receiver.deliveries()))
		}
	})
}

func TestRunner_Run_exhaustsAnEventAfterTheLastRetry(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		s.receiver.answer = func(message sender.Message, _ int) sender.Attempt {
			if message.Sequence == 1 {
				return sender.Attempt{Status: 500, Failure: sender.FailureStatus}
			}
			return sender.Attempt{Status: 200}
		}
		avatar := s.create()
		began := s.now()
		s.work(100 * time.Hour)
		want := slices.Repeat([]string{"processing"}, 12)
		s.wantStatuses(avatar.ID, append(want, "consent_pending", "published")...)
		deliveries := s.receiver.deliveries()
		if took := deliveries[11].at.Sub(began); took < 60*time.Hour || took > 92*time.Hour {
			s.t.Errorf("the twelfth attempt came after %v, want about 76 h", took)
		}
		attempts, err := s.db.Attempts(s.t.Context(), deliveries[0].ID)
		if err != nil || len(attempts) != 12 || attempts[11].Status != 500 || attempts[11].Failure != "status" {
			s.t.Errorf("%d attempts are kept (%v)", len(attempts), err)
		}
	})
}

func TestRunner_Run_continuesAfterARestart(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		rendering := make(chan struct{})
		s.renderer = func(ctx context.Context, _ studio.Subject) (studio.Rendering, error) {
			close(rendering)
			<-ctx.Done() // the daemon stops during the rendering
			return studio.Rendering{}, ctx.Err()
		}
		s.receiver.answer = func(sender.Message, int) sender.Attempt {
			return sender.Attempt{Failure: sender.FailureConnect}
		}
		avatar := s.create()
		s.work(time.Second)
		<-rendering
		s.close()

		s.open()
		if got := s.status(avatar.ID); got != studio.Processing {
			s.t.Fatalf("status is %s after a canceled rendering", got)
		}
		s.renderer = func(context.Context, studio.Subject) (studio.Rendering, error) { return studio.Rendering{}, nil }
		s.receiver.answer = nil
		s.work(time.Minute)
		s.wantStatuses(avatar.ID, "processing", "processing", "consent_pending", "published")
	})
}

func TestSQLite_retriesARenderingThatHangs(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		tries := 0
		s.renderer = func(ctx context.Context, _ studio.Subject) (studio.Rendering, error) {
			tries++
			<-ctx.Done()
			return studio.Rendering{}, ctx.Err()
		}
		avatar := s.create()
		s.work(10 * time.Minute)
		s.wantStatuses(avatar.ID, "processing", "failed")
		if tries != 3 {
			s.t.Errorf("%d tries, want 3", tries)
		}
	})
}

func TestSQLite_makesOneAttemptPerSubjectAtATime(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		var mu sync.Mutex
		running, most := make(map[string]int), make(map[string]int)
		enter := func(id string, by int) {
			mu.Lock()
			defer mu.Unlock()
			if running[id] += by; running[id] > 1 {
				s.t.Errorf("%s runs twice at once", id)
			}
			work, _, _ := strings.Cut(id, " ")
			running[work+"s"] += by
			most[work] = max(most[work], running[work+"s"])
		}
		s.renderer = func(_ context.Context, subject studio.Subject) (studio.Rendering, error) {
			enter("render "+subject.ID, 1)
			defer enter("render "+subject.ID, -1)
			time.Sleep(time.Second)
			return studio.Rendering{}, nil
		}
		s.receiver.answer = func(message sender.Message, _ int) sender.Attempt {
			_, id, _ := strings.Cut(string(message.Body), `"avatar_id":"`)
			enter("deliver "+id[:36], 1)
			defer enter("deliver "+id[:36], -1)
			time.Sleep(100 * time.Millisecond)
			return sender.Attempt{Status: 200}
		}
		var ids []string
		for i := range 200 { // more than there are workers
			ids = append(ids, s.createFor(fmt.Sprintf("https://%d.example.com/", i%20)).ID)
		}
		s.work(5 * time.Minute)
		for _, id := range ids {
			s.wantStatuses(id, "processing", "consent_pending", "published")
		}
		if most["render"] != 16 || most["deliver"] != 80 {
			s.t.Errorf("up to %d renderings and %d deliveries at once, want 16, and 4 to each receiver", most["render"], most["deliver"])
		}
	})
}

// An attempt that cannot be recorded is not repeated while the daemon runs.
func TestSQLite_recordsAnAttemptOnceTheDatabaseRecovers(t *testing.T) {
	onSQLite(t, func(s *fixture) { // an SQLite trigger refuses the row
		other, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(s.dsn, "sqlite:"))
		check(s.t, err)
		exec := func(statement string) {
			if _, err := other.ExecContext(s.t.Context(), statement); err != nil {
				s.t.Error(err)
			}
		}
		avatar := s.create()
		exec(`CREATE TRIGGER full BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'full'); END`)
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(10 * time.Minute)
			exec(`DROP TRIGGER full`)
			if err := other.Close(); err != nil {
				s.t.Error(err)
			}
		}()
		s.work(9 * time.Minute)
		s.wantStatuses(avatar.ID, "processing")
		s.work(9 * time.Minute) // a restarted daemon sends the event again
		<-done
		s.wantStatuses(avatar.ID, "processing", "processing", "consent_pending", "published")
	})
}

func TestSQLite_startsNoAttemptAfterStop(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		s.receiver.answer = func(sender.Message, int) sender.Attempt {
			time.Sleep(10 * time.Second)
			return sender.Attempt{Status: 200}
		}
		avatar := s.create()
		local := jobs.NewRunner(jobs.New(jobs.Config{Store: s.db, Studio: s.studio, Sender: s.receiver, Renderer: s.renderer}))
		stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		local.Run(context.Background(), stop)
		s.wantStatuses(avatar.ID, "processing") // and not the events after it
	})
}

func TestSQLite_recordsARunningAttemptBeforeItStops(t *testing.T) {
	onSQLite(t, func(s *fixture) {
		s.renderer = func(ctx context.Context, _ studio.Subject) (studio.Rendering, error) {
			<-ctx.Done()
			return studio.Rendering{}, ctx.Err()
		}
		s.receiver.answer = func(sender.Message, int) sender.Attempt {
			time.Sleep(10 * time.Second) // longer than the runner runs
			return sender.Attempt{Status: 200}
		}
		avatar := s.create()
		s.work(time.Second)
		_, err := s.db.NextDelivery(s.t.Context(), avatar.ID)
		if !errors.Is(err, studio.ErrNotFound) {
			s.t.Errorf("a delivered event is due again (%v)", err)
		}
	})
}

func TestRunner_Run_signsWithEveryValidSecret(t *testing.T) {
	onEachDatabase(t, func(s *fixture) {
		if _, err := s.studio.RotateWebhookSecret(s.t.Context(), s.user.ID); err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.studio.RotateWebhookSecret(s.t.Context(), s.user.ID); err != nil {
			s.t.Fatal(err)
		}
		secrets, err := s.studio.WebhookSecrets(s.t.Context(), s.user.ID)
		check(s.t, err)
		s.create()
		s.work(time.Second)
		var signed []string
		for _, secret := range s.receiver.deliveries()[0].Secrets {
			signed = append(signed, secret.Reveal())
		}
		if len(secrets) != 2 || fmt.Sprint(signed) != fmt.Sprint(secrets) {
			s.t.Errorf("signed with %d secrets, want the new one and the old one", len(signed))
		}
	})
}
