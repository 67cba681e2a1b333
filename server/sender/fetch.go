package sender

import (
	"context"
	"errors"
	"net/http"

	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
)

// maxRedirects is the most redirects that Fetch follows.
const maxRedirects = 5

// errRedirects is the error for too many redirects, or a redirect without a valid Location.
var errRedirects = errors.New("sender: too many redirects, or one without a usable address")

// Fetch sends a GET request to a URL that a user provided. The guard checks the URL, the URL of each
// redirect, and each address before it is dialed. Fetch follows up to 5 redirects and returns the final
// response with any other status. The caller must limit and close its body. The only deadline is that of ctx.
// Config.AllowHTTP and AllowNetworks apply, and the other fields except Timeout. If the guard blocks a
// URL, the error is a [*RefusedError].
func (s *Sender) Fetch(ctx context.Context, rawURL string) (*http.Response, error) {
	for range maxRedirects + 1 {
		request, err := s.newRequest(ctx, http.MethodGet, rawURL, http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := s.fetches.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		switch response.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
			http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		case http.StatusSwitchingProtocols:
			_ = response.Body.Close() // it is the connection, which does not end with ctx
			response.Body = http.NoBody
			return response, nil
		default:
			return response, nil
		}
		_ = response.Body.Close()
		location := response.Header.Get("Location")
		next, err := weburl.Resolve(request.URL, location)
		if err != nil || location == "" {
			return nil, errRedirects
		}
		rawURL = next.String()
	}
	return nil, errRedirects
}
