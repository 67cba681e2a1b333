package clienttest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

// login sends a valid login without retries.
func login(ctx context.Context, s *clienttest.Service) (*http.Response, error) {
	body := strings.NewReader(`{"email":"` + s.Email + `","password":"` + s.Password + `"}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/users/login", body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.Transport().RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response, err
}

func TestFault_changesTheResponse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault       clienttest.Fault
		status      int
		contentType string
		retryAfter  string
		dropped     error
		body        bool // whether the service read the body
	}{
		"Status, 401":  {fault: clienttest.Status(401), status: 401, contentType: "application/problem+json", body: true},
		"RetryAfter":   {fault: clienttest.RetryAfter(429, 1500*time.Millisecond), status: 429, contentType: "application/problem+json", retryAfter: "2", body: true},
		"HTML":         {fault: clienttest.HTML(502), status: 502, contentType: "text/html; charset=utf-8", body: true},
		"DropBefore":   {fault: clienttest.DropBefore(), dropped: io.EOF},
		"DropAfter":    {fault: clienttest.DropAfter(), dropped: io.EOF, body: true},
		"DropMid":      {fault: clienttest.DropMid(), status: 200, contentType: "application/json", dropped: io.ErrUnexpectedEOF, body: true},
		"own avatar":   {fault: teapot, status: 418, body: true},
		"without any ": {status: 200, contentType: "application/json", body: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := clienttest.NewInMemory(t)
			if test.fault != nil {
				s.Fail("login", 1, test.fault)
			}
			response, err := login(t.Context(), s)
			if !errors.Is(err, test.dropped) {
				t.Errorf("%s: error %v, want %v", name, err, test.dropped)
			}
			if response != nil && (response.StatusCode != test.status || response.Header.Get("Content-Type") != test.contentType ||
				response.Header.Get("Retry-After") != test.retryAfter || (response.Header.Get("WWW-Authenticate") != "") != (test.status == 401)) {
				t.Errorf("%s: answer %d %v", name, response.StatusCode, response.Header)
			}
			synctest.Wait() // wait until the service has noticed the dropped connection
			if got := s.Requests()[0]; got.Status != test.status || (len(got.Body) > 0) != test.body {
				t.Errorf("%s: recorded %+v", name, got)
			}
			if response, err := login(t.Context(), s); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%s: the next call: %v, %v", name, response, err)
			}
		})
	}
}

func teapot(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
}

// A creation is processed even if its response is lost.
func TestFault_dropAfterProcessesTheCall(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	c := newClient(t, s, func(c *client.Config) { c.Retry.Attempts = 1 })
	create := func(title string) int {
		var response client.Response
		_, _ = c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{Title: gen.Value(title)},
			client.WithIdempotencyKey("key"), client.WithResponse(&response)) // the status says what happened
		return response.StatusCode
	}
	s.Fail("createAvatar", 1, clienttest.DropBefore())
	s.Fail("createAvatar", 1, clienttest.DropAfter())
	for i, want := range []struct {
		title  string
		status int
	}{{"before", 0}, {"after", 0}, {"after", 200}, {"another", 422}} {
		if status := create(want.title); status != want.status {
			t.Errorf("creation %d is answered %d, want %d", i, status, want.status)
		}
	}
}

func TestFault_delayEndsWithTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewInMemory(t)
		s.Fail("login", 2, clienttest.Delay(time.Hour))
		began := time.Now()
		if _, err := login(t.Context(), s); err != nil || time.Since(began) != time.Hour {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := login(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if status := s.Requests()[1].Status; status != 0 {
			t.Errorf("a call whose caller has gone is answered %d", status)
		}
		s.Fail("", 1, clienttest.Delay(1000*time.Hour))
		gone, leave := context.WithCancel(context.Background())
		t.Cleanup(leave) // runs after the service has ended, which must not wait for the call
		go func() { _, _ = login(gone, s) }()
		synctest.Wait()
	})
}

// Faults apply in the order of the script, each to calls of its own operation.
func TestFail_appliesFaultsInOrder(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Fail("createAvatar", 1, clienttest.Status(500))
	s.Fail("login", 2, clienttest.Status(501))
	s.Fail("", 1, clienttest.Status(502))
	s.Fail("login", 1, clienttest.Status(503))
	for i, want := range []int{501, 501, 502, 503, 200} {
		if response, err := login(t.Context(), s); err != nil || response.StatusCode != want {
			t.Errorf("call %d: %v, %v, want %d", i, response, err, want)
		}
	}
}
