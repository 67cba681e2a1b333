// Package memory provides the service in memory: the rules, the API and the access tokens of studiod, over records that
// end with the process. It hashes no passwords and starts nothing in the background. It renders and delivers only when
// its user says so. Package clienttest makes a test double of it.
package memory

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// MediaPath is the prefix of the paths of files.
const MediaPath = "/media/"

// Config configures a [Service]. BaseURL and Send are required.
type Config struct {
	// BaseURL is the URL at which the Service is served, without a slash at the end.
	BaseURL string
	// Sender configures which webhook URLs are accepted.
	Sender sender.Config
	// Send sends the samples of testWebhook.
	Send func(context.Context, sender.Message) sender.Attempt
	// Logger is that of [server.Config].
	Logger *slog.Logger
}

// Service is a service in memory. It is an http.Handler for the operations of the document and for the files of the
// service. It is safe for concurrent use.
type Service struct {
	api    http.Handler
	studio *studio.Service
	store  *memstore.Store
	tokens *auth.Tokens

	delivering sync.Mutex
	autoFinish atomic.Bool
}

// New returns a Service without users. It validates responses, too.
func New(cfg Config) (*Service, error) {
	if cfg.BaseURL == "" || cfg.Send == nil {
		return nil, errors.New("memory: BaseURL and Send are required")
	}
	guard, err := sender.New(cfg.Sender)
	if err != nil {
		return nil, err
	}
	s := &Service{store: memstore.New()}
	if s.tokens, err = auth.NewTokens(newKeys(), time.Now); err != nil {
		return nil, err
	}
	s.tokens.Revocations = new(auth.Revocations)
	s.store.OnRevoke = s.tokens.Revocations.Revoke
	rules := studio.Config{Store: finishingStore{s.store, s}, Passwords: clearPasswords{}, Webhooks: webhooks{guard, cfg.Send}}
	rules.IssueAccessToken, rules.Voices = s.tokens.Issue, simulate.Voices
	rules.Media, rules.Key = memstore.NewMedia(cfg.BaseURL+MediaPath), []byte(rand.Text())
	rules.PublicURL, rules.DataPlaneID = cfg.BaseURL, studio.NewID()
	s.studio = studio.New(rules)
	s.api, err = server.New(rest.New(s.studio), server.Config{
		Authenticator: s.tokens, MapError: rest.MapError,
		Validation: validate.Config{AnonymousBodyBytes: rest.AnonymousBodyBytes},
		Middleware: []gen.StrictMiddlewareFunc{s.tokens.Middleware},
		Logger:     cfg.Logger, ValidateResponses: true,
	})
	return s, err
}

func newKeys() []auth.SigningKey { return []auth.SigningKey{{Seed: auth.NewSeed()}} }

// webhooks are what a guard accepts, and sends samples with a function.
type webhooks struct {
	*sender.Sender
	send func(context.Context, sender.Message) sender.Attempt
}

func (w webhooks) Send(ctx context.Context, m sender.Message) sender.Attempt { return w.send(ctx, m) }

// clearPasswords stores passwords as they are.
type clearPasswords struct{}

func (clearPasswords) Hash(_ context.Context, password string) (string, error) { return password, nil }

func (clearPasswords) Compare(_ context.Context, password, hash string) (bool, error) {
	return password == hash, nil
}

// ServeHTTP serves an operation, or a file to anyone.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, ok := strings.CutPrefix(r.URL.Path, MediaPath)
	if !ok {
		s.api.ServeHTTP(w, r)
		return
	}
	file, err := s.studio.Media.Open(r.Context(), key)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	content, _ := io.ReadAll(file) // reading from memory does not fail
	w.Header().Set("ETag", strconv.Quote(key))
	http.ServeContent(w, r, key, time.Time{}, bytes.NewReader(content))
}

// ExpireTokens makes all access tokens invalid. Refresh tokens stay valid.
func (s *Service) ExpireTokens() {
	_ = s.tokens.SetKeys(newKeys()) // never fails: the key has the right length
}

// Secrets returns the active webhook secrets of a user, newest first. It creates the first one.
func (s *Service) Secrets(ctx context.Context, userID string) ([]standardwebhooks.Secret, error) {
	secrets, err := s.studio.WebhookSecrets(ctx, userID)
	if err != nil {
		return nil, err
	}
	return standardwebhooks.ParseSecrets(secrets)
}

// Events returns the notifications of a subject, sent or not, in order.
func (s *Service) Events(subjectID string) []sender.Message {
	var messages []sender.Message
	filter := studio.EventFilter{SubjectID: subjectID}
	events, _, _ := s.store.Events(context.Background(), filter, studio.OldestFirst, studio.Position{}, math.MaxInt) // reading from memory does not fail
	for _, event := range events {
		if event.State != studio.EventUnsent && event.Reason != studio.ReasonDeleted {
			messages = append(messages, event.Message(event.URL, nil))
		}
	}
	return messages
}

// Deliver calls send for each notification that is not delivered yet, including those that occur meanwhile. send
// reports whether it is delivered. If not, the later ones of its subject wait until the next call of Deliver.
func (s *Service) Deliver(send func(sender.Message) (delivered bool)) {
	s.delivering.Lock()
	defer s.delivering.Unlock()
	waiting := map[string]bool{}
	for {
		event, ok := s.store.NextEvent(waiting)
		if !ok {
			return
		}
		secrets, _ := s.studio.WebhookSecrets(context.Background(), event.UserID) // reading from memory does not fail
		if send(event.Message(event.URL, secrets)) {
			s.store.SetDelivered(event.ID, time.Now())
		} else {
			waiting[event.SubjectID] = true
		}
	}
}
