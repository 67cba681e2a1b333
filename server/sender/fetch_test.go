package sender_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
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
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		default:
			http.Redirect(w, r, strings.TrimPrefix(r.URL.RequestURI(), "/to?"), http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(web.Close)
	s, err := sender.New(sender.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	harness.Check(t, err)
	t.Cleanup(s.Close)
	for _, test := range []struct {
		url     string
		status  int
		refused bool
	}{
		{web.URL + "/file", 200, false},
		{web.URL + "/to?/file", 200, false},
		{web.URL + "/missing", 404, false},
		{web.URL + "/loop", 0, false},
		{web.URL + "/nowhere", 0, false},
		{web.URL + "/to?http://127.0.0.2/", 0, true}, // the guard checks redirects too
		{web.URL + "/to?http://localhost.localdomain@127.0.0.1/", 0, true},
		{web.URL + "/to?file:///etc/passwd", 0, true},
		{"http://10.0.0.1/", 0, true},
	} {
		response, err := s.Fetch(t.Context(), test.url)
		if refused := errors.As(err, new(*sender.RefusedError)); refused != test.refused {
			t.Errorf("%s: %v, refused %t", test.url, err, refused)
		}
		if err != nil {
			if test.status != 0 {
				t.Errorf("%s: %v", test.url, err)
			}
			continue
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != test.status || test.status == 200 && string(body) != "content" {
			t.Errorf("%s: %s %q", test.url, response.Status, body)
		}
	}
}
