package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	maxAnswer  = 64 << 20
	maxProblem = 64 << 10
)

// doer is what the generated client sends through. All that concerns every operation is here,
// so an operation needs no more than the line that calls the generated method.
type doer struct {
	http      http.Client
	userAgent string
	token     Secret
	tokens    *tokens // nil without Email and Password
	maxAnswer int64
}

var _ gen.HttpRequestDoer = (*doer)(nil)

func newDoer(config Config) *doer {
	d := &doer{
		http:      http.Client{Timeout: defaultTimeout},
		userAgent: cmp.Or(config.UserAgent, defaultUserAgent),
		token:     config.Token,
		maxAnswer: maxAnswer,
	}
	if config.HTTPClient != nil {
		d.http = *config.HTTPClient
	}
	// A redirect to another host would carry the body along, which may be a password.
	d.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return d
}

// Do sends request with the token it needs. A nil error means a 2xx answer in JSON whose body
// is in memory.
func (d *doer) Do(request *http.Request) (*http.Response, error) {
	switch {
	case public(request) || request.Header.Get("Authorization") != "":
		return d.send(request)
	case d.tokens != nil:
		return d.sendRenewing(request)
	case d.token != "":
		authorize(request, string(d.token))
	}
	return d.send(request)
}

// sendRenewing sends request and, if its token is refused, once more with another one. That is
// safe for a POST too: the service did not act on a request that it refused.
func (d *doer) sendRenewing(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	access, err := d.tokens.get(ctx)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	authorize(request, access)
	response, err := d.send(request)
	if !errors.Is(err, ErrUnauthorized) {
		return response, err
	}
	d.tokens.discard(access)
	again := request.Clone(ctx)
	if request.Body != nil && request.Body != http.NoBody {
		if request.GetBody == nil {
			return nil, err
		}
		if again.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
	if access, err = d.tokens.get(ctx); err != nil {
		return nil, err
	}
	authorize(again, access)
	return d.send(again)
}

func (d *doer) send(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", d.userAgent)
	request.Header.Set("Accept", "application/json, application/problem+json")
	response, err := d.http.Do(request)
	if err != nil {
		return nil, transportError(request, err)
	}
	defer response.Body.Close()
	response.Request = request
	if response.StatusCode/100 != 2 {
		return nil, newProblemError(response)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, d.maxAnswer+1))
	switch {
	case err != nil:
		return nil, transportError(request, err)
	case int64(len(body)) > d.maxAnswer:
		return nil, newError(response, noteTooLarge)
	case !isJSON(response) || !json.Valid(body):
		return nil, newError(response, noteNotPromised)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// public reports whether request is one of the two that need no token.
func public(request *http.Request) bool {
	path := request.URL.Path
	return strings.HasSuffix(path, "/users/login") || strings.HasSuffix(path, "/users/refresh")
}

func authorize(request *http.Request, access string) {
	request.Header.Set("Authorization", "Bearer "+access)
}

func isJSON(response *http.Response) bool {
	return strings.Contains(response.Header.Get("Content-Type"), "json")
}

// transportError keeps the cause and leaves out the user information and the query of the URL.
func transportError(request *http.Request, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	address := url.URL{Scheme: request.URL.Scheme, Host: request.URL.Host, Path: request.URL.Path}
	return &url.Error{Op: request.Method, URL: address.String(), Err: err}
}
