package sender

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// maxRedirects is how many redirects Fetch follows.
const maxRedirects = 5

// errRedirects is an answer that leads nowhere.
var errRedirects = errors.New("sender: too many redirects, or one without a usable address")

// Fetch gets what is at a URL that a user wrote. The guard judges the URL, that of each redirect
// and every address that is dialled. The answer's status may be any but a redirect's; the caller
// limits and closes its body. The deadline is that of ctx alone. A [*RefusedError] is wrapped when
// the guard refused.
func (s *Sender) Fetch(ctx context.Context, rawURL string) (*http.Response, error) {
	for range maxRedirects + 1 {
		target, err := s.guard.parse(rawURL)
		if err != nil {
			return nil, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("User-Agent", s.config.UserAgent)
		request.Header.Set("Accept-Encoding", "identity")
		response, err := s.transport.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		switch response.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
			http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			return response, nil
		}
		_ = response.Body.Close()
		next, err := url.Parse(response.Header.Get("Location"))
		if err != nil || next.String() == "" {
			return nil, errRedirects
		}
		rawURL = target.ResolveReference(next).String()
	}
	return nil, errRedirects
}
