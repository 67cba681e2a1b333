package sender_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func TestFetch_followsGuardedRedirects(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file":
			_, _ = io.WriteString(w, "content")
		case "/missing":
			http.NotFound(w, r)
		case "/other":
			faultserver.Raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n").ServeHTTP(w, r)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/much":
			w.Header().Set("Much", strings.Repeat("a", 65<<10))
		default:
			http.Redirect(w, r, strings.TrimPrefix(r.URL.RequestURI(), "/to?"), http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(web.Close)
	s := newSender(t, sender.Config{})
	for _, test := range []struct {
		url     string
		status  int
		refused bool
	}{
		{web.URL + "/file", 200, false},
		{web.URL + "/to?/file", 200, false},
		{web.URL + "/missing", 404, false},
		{web.URL + "/other", 101, false}, // whose connection does not end
		{web.URL + "/loop", 0, false},
		{web.URL + "/nowhere", 0, false},
		{web.URL + "/much", 0, false},
		{web.URL + "/to?http://[/", 0, false},
		{web.URL + "/to?http://127.0.0.2/", 0, true}, // the guard checks redirects too
		{web.URL + "/to?http://localhost.localdomain@127.0.0.1/", 0, true},
		{web.URL + "/to?file:///etc/passwd", 0, true},
		{"http://10.0.0.1/", 0, true},
	} {
		response, err := s.Fetch(t.Context(), test.url)
		if refused := errors.As(err, new(*sender.RefusedError)); refused != test.refused || (err != nil) != (test.status == 0) {
			t.Errorf("%s: %v, refused %t", test.url, err, refused)
		}
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != test.status || test.status == 200 && string(body) != "content" {
			t.Errorf("%s: %s %q", test.url, response.Status, body)
		}
	}
}

// Attempts, fetches and redirects send a URL in the form of the WHATWG URL standard, in which it is registered.
func TestSender_sendsURLsInTheFormOfTheStandard(t *testing.T) {
	t.Parallel()
	var target, location atomic.Value
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, ok := location.Swap("").(string); ok && to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		target.Store(r.RequestURI)
	}))
	t.Cleanup(web.Close)
	s := newSender(t, sender.Config{})
	for raw, want := range harness.URLs() {
		canonical, err := s.CanonicalURL(web.URL + raw)
		if err != nil || canonical != web.URL+want {
			t.Errorf("%q is registered as %q, %v", raw, canonical, err)
		}
		if attempt := s.Send(t.Context(), message(web.URL+raw)); !attempt.Delivered() || target.Swap("") != want {
			t.Errorf("%q: %+v", raw, attempt)
		}
		for from, to := range map[string]string{web.URL + raw: "", web.URL: web.URL + raw, web.URL + "/": "/" + strings.TrimPrefix(raw, "/")} {
			location.Store(to)
			response := harness.Try(s.Fetch(t.Context(), from))(t)
			_ = response.Body.Close()
			if got := target.Swap(""); got != want {
				t.Errorf("%q, redirected to %q, is sent as %q, want %q", from, to, got, want)
			}
		}
	}
}
