package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
)

// consents implements only submitConsent.
type consents struct {
	gen.StrictServerInterface
	answer func(gen.SubmitConsentRequestObject) (gen.SubmitConsentResponseObject, error)
}

func (c consents) SubmitConsent(_ context.Context, request gen.SubmitConsentRequestObject) (gen.SubmitConsentResponseObject, error) {
	return c.answer(request)
}

func echo(request gen.SubmitConsentRequestObject) (gen.SubmitConsentResponseObject, error) {
	return gen.SubmitConsent200JSONResponse{AvatarID: request.Body.AvatarID}, nil
}

// body is a body that has already been validated.
type body struct {
	io.Reader
	text string
}

func (body) Close() error        { return nil }
func (b body) ValidJSON() []byte { return []byte(b.text) }

func TestGenerated_strictHandlerReportsErrorsToHooks(t *testing.T) {
	t.Parallel()
	const valid = `{"avatar_id":"a","granted":true}`
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		body   io.Reader
		answer func(gen.SubmitConsentRequestObject) (gen.SubmitConsentResponseObject, error)
		hook   string // name of the error hook that is called
		text   string
	}{
		"decodes the request and writes the response": {strings.NewReader(valid), echo, "", `"avatar_id":"a"`},
		"reads validated JSON without copying it":     {body{strings.NewReader("never read"), valid}, echo, "", `"avatar_id":"a"`},
		"decodes null as encoding/json":               {body{nil, "null"}, echo, "", `"avatar_id":""`},
		"rejects invalid JSON":                        {strings.NewReader("{"), echo, "request", "can't decode JSON body: unexpected EOF"},
		"rejects a missing body":                      {http.NoBody, echo, "request", "can't decode JSON body: EOF"},
		"rejects a body that has been read":           {body{nil, ""}, echo, "request", "can't decode JSON body: EOF"},
		"rejects JSON of another type":                {body{nil, "[]"}, echo, "request", "can't decode JSON body: "},
		"passes on an error": {
			strings.NewReader(valid),
			func(gen.SubmitConsentRequestObject) (gen.SubmitConsentResponseObject, error) { return nil, boom },
			"response", "boom",
		},
		"writes nothing for a nil response": {
			strings.NewReader(valid),
			func(gen.SubmitConsentRequestObject) (gen.SubmitConsentResponseObject, error) { return nil, nil },
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hook string
			say := func(name string) func(http.ResponseWriter, *http.Request, error) {
				return func(w http.ResponseWriter, _ *http.Request, err error) {
					hook = name
					fmt.Fprint(w, err)
				}
			}
			handler := gen.Handler(gen.NewStrictHandlerWithOptions(consents{answer: test.answer}, nil, gen.StrictHTTPServerOptions{
				RequestErrorHandlerFunc: say("request"), ResponseErrorHandlerFunc: say("response"),
			}))
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/avatars/submit_consent", test.body))
			if got := w.Body.String(); hook != test.hook || !strings.Contains(got, test.text) || test.text == "" && got != "" {
				t.Errorf("hook %q, answer %q", hook, got)
			}
		})
	}
}

func TestGenerated_strictMiddlewareRunsInOrder(t *testing.T) {
	t.Parallel()
	var passed []string
	wrap := func(name string) gen.StrictMiddlewareFunc {
		return func(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
			return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
				passed = append(passed, name+" "+operationID)
				if r.Header.Get("Wrong") == name {
					return 7, nil
				}
				return next(ctx, w, r, request)
			}
		}
	}
	handler := gen.Handler(gen.NewStrictHandler(consents{answer: echo}, []gen.StrictMiddlewareFunc{wrap("outer"), wrap("inner")}))
	send := func(wrong string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/v1/avatars/submit_consent", strings.NewReader(`{"avatar_id":"a"}`))
		r.Header.Set("Wrong", wrong)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	if w := send(""); w.Code != http.StatusOK || !slices.Equal(passed, []string{"outer SubmitConsent", "inner SubmitConsent"}) {
		t.Errorf("status %d, passed %v", w.Code, passed)
	}
	if w := send("inner"); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "unexpected response type: int") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
