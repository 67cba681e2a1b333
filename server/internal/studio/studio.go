// Package studio is the domain of Avatar Studio: users, workspaces and projects, the avatars, videos and
// lip-syncs that users create, and the rules about them. It contains no HTTP and no SQL: package rest,
// the console and the commands call it, and package store or memstore keeps its records.
//
// A [Subject] is an avatar, a video or a lip-sync. Its state only changes in [SubjectStore.UpdateSubject], which
// writes the state and the [Event] about it in one transaction. Packages deliver and render do the work that follows
// from a state, such as rendering and delivery. The rows describe this work, so that it survives a restart.
package studio

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Config configures a [Service]. Store is required; the use cases of logins, webhooks and files require their fields.
type Config struct {
	// Store stores all records. If it is a [DatabaseStore], there are also operators, API keys and a console.
	Store Store
	// Passwords hashes and compares passwords.
	Passwords Passwords
	// IssueAccessToken returns an access token that is valid for one hour, unless its session ends.
	IssueAccessToken func(AccessToken) (string, error)
	// Webhooks checks the URLs of webhooks and sends samples.
	Webhooks Webhooks
	// Media stores files. If nil, renderings have no files, and Upload must not be called.
	Media Media
	// Voices returns the voices of the renderer, the preferred ones of each language first. If nil, or if it returns
	// none, the service knows no voices, and accepts any.
	Voices func(context.Context) ([]Voice, error)
	// Key authenticates the cursors of lists and the links to shared projects, and makes the IDs of endpoints. All
	// processes with the same database must have the same.
	Key []byte
	// PublicURL is the URL of the service in the links to shared projects, without a slash at the end.
	PublicURL string
	// DataPlaneID is the id of the installation in its projects.
	DataPlaneID string
	// AutoConsent decides about avatars without a submitted consent. If nil, avatars wait for a decision.
	AutoConsent func(Subject) (granted bool)
	// Now returns the current time. Defaults to [time.Now].
	Now func() time.Time
	// MaxInProgress limits the creations of a user that are waiting to be rendered or being rendered. Each
	// process beyond the first may exceed it by a twentieth, and at least by one, because it counts the rows once for
	// several creations. If zero, they are not limited.
	MaxInProgress int
	// MaxMediaBytes limits the total size of the unexpired uploads of a user, in bytes. If zero, it is not
	// limited.
	MaxMediaBytes int64
	// MaxVideoSeconds limits the total length of the videos that a user can make, in seconds. A creation is refused
	// when the limit is reached, so those in progress then exceed it. If zero, it is not limited.
	MaxVideoSeconds int64
	// TraceParent returns the span of a creation, which is stored as the parent of the work that follows, or
	// "". If nil, creations are not traced.
	TraceParent func(ctx context.Context) string
	// OnStreamEnd is called for each stream of events that ends, with its context and the reason: the cause of the
	// context, an error of the store, or nil if the caller stopped. It may be called concurrently. Default: none.
	OnStreamEnd func(ctx context.Context, reason error)
}

// Store stores the records of the domain. Each method is one transaction. If a record does not exist, the error is
// [ErrNotFound]. If a record with the same key exists, the error is [ErrExists]. Package store implements it with SQL,
// and package memstore in memory.
type Store interface {
	UserStore
	LoginStore
	TokenStore
	WorkspaceStore
	ProjectStore
	SubjectStore
	EventStore
	UploadStore
	WebhookStore
	ReplayStore
	EndpointStore
}

// Service implements the use cases. It is safe for concurrent use.
type Service struct {
	Config
	database    DatabaseStore // nil if Store is none
	comparisons comparisonQueue

	inProgress inProgress
	uploading  uploading
	feeds      feeds
}

// New returns a Service.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	database, _ := cfg.Store.(DatabaseStore)
	s := &Service{Config: cfg, database: database, comparisons: newComparisonQueue(), feeds: newFeeds()}
	s.Store.OnEvents(s.feeds.wake)
	return s
}

// NewID returns a unique ID for a record. IDs are ordered by time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// now returns the current time in microseconds, the precision of the store.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Pause waits for d or until ctx ends.
func Pause(ctx context.Context, d time.Duration) { Await(ctx, nil, d) }

// Await waits for a signal, but for d at most, or until ctx ends.
func Await(ctx context.Context, signal <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-signal:
	case <-timer.C:
	}
}

// Signal sends a value to a channel of capacity one, unless its reader has not received the last one. The reader will
// then see what this one is about, too.
func Signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

const (
	// Persist repeats with a pause from minWritePause to maxWritePause, so what follows the write is late by up to that
	// after an outage. After its end it repeats for up to lastWrites, with lastWritePause.
	minWritePause, maxWritePause = time.Second, 5 * time.Second
	lastWrites, lastWritePause   = 2 * time.Second, 250 * time.Millisecond
)

// Persist calls write until it returns true, or until stop or ctx has ended and a further two seconds have passed. So
// the result of work is written although the database was unavailable, and a process ends although it is.
func Persist(ctx, stop context.Context, write func(ctx context.Context) (done bool)) {
	repeating, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(stop, cancel)()
	for wait := minWritePause; repeating.Err() == nil; wait = min(2*wait, maxWritePause) {
		if write(ctx) {
			return
		}
		Pause(repeating, wait)
	}
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
	defer cancelLast()
	for !write(last) && last.Err() == nil {
		Pause(last, lastWritePause)
	}
}
