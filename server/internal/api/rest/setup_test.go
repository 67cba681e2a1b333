package rest_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// setup is the whole service without a network and without background work. Responses that the document does
// not allow become a 500 and fail the test.
type setup struct {
	t         testing.TB
	handler   http.Handler
	store     studio.Store
	studio    *studio.Service
	clock     *studiotest.Clock
	user      studio.User
	workspace studio.Workspace
	token     string
	tokens    *auth.Tokens
	log       bytes.Buffer
	codes     map[string]bool // of all errors that do returned
}

func newSetup(t testing.TB, db studio.Store) *setup {
	t.Helper()
	s := &setup{t: t, store: db, clock: studiotest.NewClock(), codes: map[string]bool{}}
	tokens, err := auth.NewTokens([]auth.SigningKey{{Seed: auth.NewSeed()}}, s.clock.Now)
	s.check(err)
	cfg := studiotest.Config(db, s.clock.Now)
	cfg.IssueAccessToken, s.tokens = tokens.Issue, tokens
	s.studio = studio.New(cfg)
	tokens.APIKeys = &auth.APIKeys{Check: s.studio.CheckAPIKey, Now: s.clock.Now}
	s.handler, err = server.New(rest.New(s.studio), server.Config{
		Authenticator: tokens, MapError: rest.MapError, ValidateResponses: true,
		Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	s.check(err)
	s.user = studiotest.AddUser(t, s.studio, "ada@example.com")
	s.workspace, err = s.studio.AddWorkspace(t.Context(), "", "Team")
	s.check(err)
	s.check(s.studio.AddMember(t.Context(), s.workspace.ID, s.user.Email))
	s.token = s.login(s.user.Email).Access
	return s
}

func (s *setup) login(email string) studio.TokenPair {
	s.t.Helper()
	pair, err := s.studio.Login(s.t.Context(), netip.Addr{}, email, "password")
	s.check(err)
	return pair
}

// inMemory runs a test of what this package does by itself. Tests of package studio and package store hold for a store
// in memory and for databases alike.
func inMemory(t *testing.T, test func(s *setup)) {
	t.Helper()
	t.Parallel()
	test(newSetup(t, memstore.New()))
}

// eachSetup runs a test on each kind of database.
func eachSetup(t *testing.T, test func(s *setup)) {
	t.Helper()
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) { test(newSetup(t, db)) })
}

func (s *setup) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// absent is a header value that removes the header from the request.
const absent = "absent"

// do sends a request of the user, with additional headers.
func (s *setup) do(method, target, body string, header map[string]string) (status int, answer string) {
	s.t.Helper()
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	for name, value := range header {
		request.Header.Set(name, value)
		if value == absent {
			request.Header.Del(name)
		}
	}
	response := httptest.NewRecorder()
	s.handler.ServeHTTP(response, request)
	content, err := io.ReadAll(response.Body)
	s.check(err)
	if response.Code >= http.StatusBadRequest {
		s.checkCode(content)
	}
	if response.Code == http.StatusInternalServerError {
		s.t.Errorf("%s %s failed: %s", method, target, s.log.String())
	}
	studiotest.NewResponseChecker(s.t).Check(s.t, method, request.URL.Path, response.Code, response.Header(), content)
	return response.Code, string(content)
}
