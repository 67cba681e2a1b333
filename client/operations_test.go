package client_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

func TestListProjects_needsAWorkspace(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.direct(t, func(c *client.Config) { c.Workspace = "" })
	if _, err := c.ListProjects(t.Context()); err == nil || !strings.Contains(err.Error(), "WithWorkspace") {
		t.Errorf("error %v", err)
	}
	if len(s.seen) != 0 {
		t.Errorf("sent %+v", s.seen)
	}
}

// Every path of the document is appended to the path of BaseURL.
func TestBasePath_precedesEveryPath(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://localhost/studio/v9", "http://localhost/studio/v9/", "http://localhost/studio/x/../v9"} {
		s := newService()
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			http.StripPrefix("/studio/v9", http.HandlerFunc(s.answer)).ServeHTTP(w, r)
			return true
		}
		c := s.direct(t, func(c *client.Config) { c.BaseURL = base })
		if _, err := c.GetAvatar(t.Context(), avatarID); err != nil {
			t.Errorf("%s: %v", base, err)
		}
		if s.count("GET /studio/v9/v1/avatars/avatar_details") != 1 {
			t.Errorf("%s: %+v", base, s.seen)
		}
	}
}
