// Package clienttest is the service for the tests of programs that call it: the whole contract
// in memory, behind an httptest server and the same generated interface and checks as the real
// one, so it is the one package of the client's side that links package server. A request that the
// document forbids fails the test.
//
// Nothing happens by itself: an avatar, a video or a lip-sync stays in its state until the test
// moves it, and notifications wait for [Service.Deliver].
//
//	func TestPublishing(t *testing.T) {
//		service := clienttest.New(t)
//		studio, err := client.New(client.Config{
//			BaseURL:  service.URL,
//			Email:    service.Email,
//			Password: client.Credential(service.Password),
//		})
//		if err != nil {
//			t.Fatal(err)
//		}
//		avatar, err := studio.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})
//		if err != nil {
//			t.Fatal(err)
//		}
//
//		service.SetAvatar(avatar.AvatarID, gen.AvatarStatusPublished)
//		service.ExpireTokens() // the client has to renew its token
//
//		avatar, err = studio.GetAvatar(t.Context(), avatar.AvatarID)
//		if err != nil || avatar.Status != gen.AvatarStatusPublished {
//			t.Errorf("avatar %v, error %v", avatar, err)
//		}
//	}
//
// What goes wrong is scripted with [Service.Fail], and what was sent is in [Service.Requests].
package clienttest

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/sender"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Service is a running service with one user, who is the one member of one workspace. It is
// safe for concurrent use. Each request has a connection of its own, so that net/http never
// repeats one by itself and a dropped connection is always seen.
//
// The fields are set by [New] and must not be changed.
type Service struct {
	// URL is the base address, for client.Config.BaseURL.
	URL string

	// Email and Password are those of the user, UserID is the id.
	Email, Password, UserID string

	// Workspace is the id of the workspace.
	Workspace string

	// Secret signs the notifications. See Secrets for those after a rotation.
	Secret webhook.Secret

	t          testing.TB
	studio     *studio
	handler    http.Handler
	client     *http.Client
	operations map[string]string // ids by method, space and path
	delivering sync.Mutex

	mu           sync.Mutex
	requests     []*Request
	faults       []*scripted
	allowInvalid bool
}

// maxAnonymousBody bounds the bodies of operations without a token, as the service does.
const maxAnonymousBody = 16 << 10

// New starts a service on a loopback address. It ends with the test.
func New(t testing.TB) *Service {
	t.Helper()
	return start(t, httptest.NewUnstartedServer(nil), nil)
}

// NewInMemory starts a service that only [Service.HTTPClient] reaches, without a socket: with
// the client, the service and the calls in one bubble of testing/synctest, time passes at once
// for retries, waits and [Delay]. Notifications need sockets all the same, and a receiver that
// listens in the bubble stops its clock.
func NewInMemory(t testing.TB) *Service {
	t.Helper()
	listener := newMemoryListener()
	return start(t, &httptest.Server{Listener: listener, Config: &http.Server{ReadHeaderTimeout: time.Minute}}, listener.dial)
}

func start(t testing.TB, web *httptest.Server, dial dialFunc) *Service {
	t.Helper()
	guard, err := sender.New(senderConfig())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: dial}
	s := &Service{
		Email:    "ada@example.com",
		Password: "correct horse battery staple",
		Secret:   webhook.NewSecret(),

		t:      t,
		studio: newStudio(guard.CanonicalURL),
		client: &http.Client{Transport: transport},
	}
	s.UserID = s.studio.addUser(s.Email, s.Password)
	s.Workspace = s.studio.addWorkspace(s.UserID)
	s.studio.secrets[s.UserID] = []secret{{Secret: s.Secret}}
	if s.operations, err = operations(); err != nil {
		t.Fatal(err)
	}
	s.handler, err = server.New(s.studio, server.Config{
		Authenticator:     server.AuthenticatorFunc(s.studio.authenticate),
		Logger:            slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		ValidateResponses: server.ResponsesEnforced,
		Validation:        validate.Config{AnonymousBodyBytes: maxAnonymousBody},
	})
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, filePath) { // no operation
			s.studio.serveFile(w, r)
			return
		}
		s.serve(w, r)
	})
	web.Config.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithCancel(context.Background())
	web.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	web.Start()
	s.URL, s.studio.fileURL = web.URL, web.URL+filePath
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		web.Close()
	})
	return s
}

// operations returns the ids of the document's operations by method, space and path.
//
//nolint:gochecknoglobals // the same for every service, and slow to make
var operations = sync.OnceValues(func() (map[string]string, error) {
	validator, err := validate.Load(api.Spec, validate.Config{})
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for operation := range validator.Operations() {
		ids[operation.Method()+" "+operation.Path()] = operation.ID()
	}
	return ids, nil
})

// HTTPClient returns an HTTP client for client.Config.HTTPClient. It has no timeout. Only a
// service of [NewInMemory] needs it.
func (s *Service) HTTPClient() *http.Client { return s.client }

// AddUser adds a user who is a member of no workspace, and returns the id.
func (s *Service) AddUser(email, password string) (id string) {
	s.t.Helper()
	if id = s.studio.addUser(email, password); id == "" {
		s.t.Errorf("clienttest: AddUser: there is a user %s", email)
	}
	return id
}

// AddProject adds a project to the workspace. Missing ids and times are filled in: a new
// project of the user's.
func (s *Service) AddProject(project gen.Project) { s.studio.addProject(project, s.UserID) }

// ExpireTokens makes the service refuse every access token that it has issued. Refresh tokens
// remain good.
func (s *Service) ExpireTokens() { s.studio.expireTokens() }

// AllowInvalid lets the test send what the document forbids: 400, 405, 413, 415, and 404 for a
// path that there is not. Otherwise each of these answers fails the test.
func (s *Service) AllowInvalid() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowInvalid = true
}

// checkOperation ends the test when there is no such operation.
func (s *Service) checkOperation(id string) {
	s.t.Helper()
	known := slices.Sorted(maps.Values(s.operations))
	if !slices.Contains(known, id) {
		s.t.Fatalf("clienttest: there is no operation %q; the operations are %s", id, strings.Join(known, ", "))
	}
}
