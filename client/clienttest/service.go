// Package clienttest provides the service in memory, for tests of programs that call it. It runs behind an
// httptest server, with the rules, the handlers and the validation of the real service, in package server/memory. It is
// therefore the only package below client that imports packages below server. A request that the document forbids fails
// the test, and so does a body above 1 MiB, even of an upload.
//
// An avatar, video or lip-sync keeps its status until the test changes it. The stream of events sends each change at
// once. Notifications, and those that are sent again, are sent only by [Service.Deliver].
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
//		service.ExpireTokens() // the client must renew its token
//
//		avatar, err = studio.GetAvatar(t.Context(), avatar.AvatarID)
//		if err != nil || avatar.Status != gen.AvatarStatusPublished {
//			t.Errorf("avatar %v, error %v", avatar, err)
//		}
//	}
//
// [Service.Fail] injects faults, and [Service.Requests] returns the requests that the service received.
package clienttest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/memory"
	"github.com/avatarstudio/avatarstudio/server/sender"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Service is a running service with one user, who is the only member of one workspace. It is safe for
// concurrent use. Each request uses a new connection, so that net/http never retries a request by itself
// and dropped connections are visible to the client.
//
// [New] sets the fields. They must not be changed.
type Service struct {
	// URL is the base URL, for client.Config.BaseURL.
	URL string

	// Email, Password and UserID belong to the user.
	Email, Password, UserID string

	// Workspace is the id of the workspace.
	Workspace string

	// Secret is the first signing secret. Secrets returns the current ones after a rotation.
	Secret webhook.Secret

	t         testing.TB
	service   *memory.Service
	transport *http.Transport

	allowInvalid atomic.Bool

	mu       sync.Mutex
	requests []*Request
	faults   []*scripted
}

// New starts a service on a loopback address. The service stops at the end of the test.
func New(t testing.TB) *Service {
	t.Helper()
	return start(t, httptest.NewUnstartedServer(nil), nil)
}

// NewInMemory starts a service without a socket, which only [Service.Transport] can reach. If the service
// and its clients run in one bubble of testing/synctest, retries, waits and [Delay] take no real time.
// Notifications still need sockets: a receiver that listens inside the bubble keeps its clock from
// advancing.
func NewInMemory(t testing.TB) *Service {
	t.Helper()
	pipe := faultserver.NewPipe()
	return start(t, &httptest.Server{Listener: pipe, Config: &http.Server{ReadHeaderTimeout: time.Minute}}, pipe.DialContext)
}

func start(t testing.TB, web *httptest.Server, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Service {
	t.Helper()
	s := &Service{
		URL:      "http://" + web.Listener.Addr().String(),
		Email:    "ada@example.com",
		Password: "correct horse battery staple",

		t:         t,
		transport: &http.Transport{DialContext: dial},
	}
	var err error
	s.service, err = memory.New(memory.Config{
		BaseURL: s.URL,
		Sender:  senderConfig(),
		Send: func(ctx context.Context, message sender.Message) sender.Attempt {
			return deliver(ctx, senderConfig(), message)
		},
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err == nil {
		s.UserID, err = s.service.AddUser(t.Context(), s.Email, s.Password)
	}
	if err == nil {
		s.Workspace, err = s.service.AddWorkspace(t.Context(), s.Email)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Secret = s.Secrets()[0]
	web.Config.Handler = http.HandlerFunc(s.serve)
	web.Config.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithCancel(context.Background())
	web.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	web.Start()
	t.Cleanup(func() {
		cancel()
		s.transport.CloseIdleConnections()
		web.Close()
	})
	return s
}

// Transport returns what client.Config.Transport needs for a service made by [NewInMemory].
func (s *Service) Transport() http.RoundTripper { return s.transport }

// AddUser adds a user who is not a member of any workspace, and returns the id.
func (s *Service) AddUser(email, password string) (id string) {
	s.t.Helper()
	id, err := s.service.AddUser(s.t.Context(), email, password)
	if err != nil {
		s.t.Errorf("clienttest: AddUser %s: %v", email, err)
	}
	return id
}

// AddProject adds a project to the workspace. By default the project is new and belongs to the user.
func (s *Service) AddProject(project gen.Project) {
	s.t.Helper()
	if err := s.service.AddProject(s.t.Context(), s.Workspace, s.UserID, project); err != nil {
		s.t.Errorf("clienttest: AddProject: %v", err)
	}
}

// ExpireTokens makes the service reject all access tokens that it has issued. Refresh tokens stay valid.
func (s *Service) ExpireTokens() { s.service.ExpireTokens() }

// AllowInvalid permits requests that the document forbids. Without it, a request that gets 400, 405, 413,
// 415, or 404 for an unknown path, fails the test.
func (s *Service) AllowInvalid() { s.allowInvalid.Store(true) }

// checkOperation ends the test if the document has no such operation.
func (s *Service) checkOperation(id string) {
	s.t.Helper()
	if _, known := document(); !slices.Contains(known, id) {
		s.t.Fatalf("clienttest: there is no operation %q; the operations are %s", id, strings.Join(known, ", "))
	}
}

// document returns the operations of the document by their paths, and their sorted ids.
//
//nolint:gochecknoglobals // the same for every service, and slow to make
var document = sync.OnceValues(func() (paths *http.ServeMux, ids []string) {
	validator, err := validate.Load(api.Spec, validate.Config{})
	if err != nil { // every service loads it
		panic(err)
	}
	paths = http.NewServeMux()
	for operation := range validator.Operations() {
		paths.Handle(operation.Method()+" "+operation.Path(), operationID(operation.ID()))
		ids = append(ids, operation.ID())
	}
	return paths, slices.Sorted(slices.Values(ids))
})

// operationID is an operation as the handler of its path.
type operationID string

func (operationID) ServeHTTP(http.ResponseWriter, *http.Request) {}

// operationOf returns the operationId of a request, or "". The service serves HEAD like GET.
func operationOf(r *http.Request) string {
	paths, _ := document()
	handler, _ := paths.Handler(r)
	id, _ := handler.(operationID)
	return string(id)
}
