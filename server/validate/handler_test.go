package validate_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

const (
	takesBody = `{"requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}},
		"responses": {"200": {"description": "d"}}}`
	mayTakeBody = `{"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}},
		"responses": {"200": {"description": "d"}}}`
	takesNone = `{"responses": {"200": {"description": "d"}}}`
	anyObject = `{"type": "object"}`
)

// A request without a body is the same with a length of 0, and chunked.
func TestOperation_Handler_knowsThatAChunkedBodyIsEmpty(t *testing.T) {
	t.Parallel()
	const octets = `{"requestBody": {"required": %t, "content": {"application/octet-stream": {}}}, "responses": {"200": {"description": "d"}}}`
	for _, c := range []struct {
		operation, contentType, body string
		status                       int
	}{
		{mayTakeBody, "", "", 200},
		{mayTakeBody, "application/json", "", 200},
		{mayTakeBody, "text/plain", "", 200},
		{mayTakeBody, "", "{}", 415},
		{mayTakeBody, "application/json", "{}", 200},
		{mayTakeBody, "application/json", "[]", 400},
		{takesBody, "", "", 415},
		{takesBody, "application/json", "", 400},
		{fmt.Sprintf(octets, false), "", "", 200},
		{fmt.Sprintf(octets, false), "application/octet-stream", "x", 200},
		{fmt.Sprintf(octets, true), "application/octet-stream", "", 400},
		{fmt.Sprintf(octets, true), "application/octet-stream", "x", 200},
	} {
		post := posting(t, operationOf(t, "POST", c.operation, anyObject, validate.Config{}), func(r *http.Request) (string, error) {
			read, err := io.ReadAll(r.Body)
			if string(read) != c.body {
				t.Errorf("%+v: the body is %q", c, read)
			}
			return "", err
		})
		for _, body := range []io.Reader{strings.NewReader(c.body), iotest.OneByteReader(strings.NewReader(c.body))} { // the second is chunked
			if status, got := post(c.contentType, body); status != c.status {
				t.Errorf("%+v, %T: %d %s", c, body, status, got)
			}
		}
	}
}

func status(err *validate.Error) int {
	if err == nil {
		return 0
	}
	return err.Status
}

func TestOperation_Handler_limitsTheBody(t *testing.T) {
	t.Parallel()
	const limit = 1000
	bodyOf := func(size int) string { return `{"a":"` + strings.Repeat("x", size-8) + `"}` }
	for _, c := range []struct {
		operation string
		limit     int64
		size      int
		declared  int64 // Content-Length, or -1 for chunked
		status    int
		maxRead   int
	}{
		{takesBody, limit, limit, limit, 0, limit},
		{takesBody, limit, limit, -1, 0, limit},
		{takesBody, limit, limit + 1, limit + 1, 413, 0},
		{takesBody, limit, 100 * limit, -1, 413, limit + 1},
		{takesBody, limit, 100 * limit, 10, 413, limit + 1}, // and not declared so
		{mayTakeBody, 4, limit, -1, 413, 5},
		{mayTakeBody, math.MaxInt64, limit, -1, 0, limit},
		{takesNone, 1, limit, limit, 0, limit}, // is not touched
	} {
		o := operationOf(t, "POST", c.operation, anyObject, validate.Config{MaxBodyBytes: 1 << 30, AnonymousBodyBytes: c.limit})
		unread := strings.NewReader(bodyOf(c.size))
		r := jsonRequest("POST", "/p", "")
		r.Body, r.ContentLength = io.NopCloser(unread), c.declared
		got := serve(t, o, r)
		if status(got.err) != c.status || got.err != nil && got.err.Detail != fmt.Sprintf("The body is larger than %d bytes.", c.limit) || c.size-unread.Len() > c.maxRead {
			t.Errorf("%+v: got %v, and %d bytes have been read", c, got.err, c.size-unread.Len())
		}
		if got.err == nil && (got.body != bodyOf(c.size) || got.contentLength != int64(c.size)) {
			t.Errorf("%+v: next has got %d of %d bytes", c, len(got.body), got.contentLength)
		}
	}
}

// Exceeding the limit of another middleware is answered with 413. A late body is named. Other read errors are not sent
// to the caller. Without a function for it, an error is a problem document.
func TestOperation_Handler_reportsReadErrors(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", takesBody, anyObject, validate.Config{})
	r := jsonRequest("POST", "/p", `{"a": "`+strings.Repeat("x", 100)+`"}`)
	r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 10)
	if got := serve(t, o, r); status(got.err) != 413 {
		t.Errorf("got %v", got.err)
	}
	for detail, cause := range map[string]error{
		"The body could not be read.": errors.New("secret cause"), "The body did not arrive in time.": os.ErrDeadlineExceeded,
	} {
		r = jsonRequest("POST", "/p", "")
		r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`{}`), iotest.ErrReader(cause))), -1
		if got := serve(t, o, r); status(got.err) != 400 || got.err.Detail != detail {
			t.Errorf("%v: got %v", cause, got.err)
		}
	}
	answer := httptest.NewRecorder()
	o.Handler(nil, nil).ServeHTTP(answer, jsonRequest("POST", "/p", "{"))
	if answer.Code != http.StatusBadRequest || answer.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// A body can be read in small pieces and closed early. One that is kept after the request cannot be read, and never
// returns the body of another request.
func TestOperation_Handler_closesTheBodyAfterNext(t *testing.T) {
	t.Parallel()
	const text = `{"a": 1}`
	o := operationOf(t, "POST", takesBody, anyObject, validate.Config{})
	for _, closes := range []bool{true, false} {
		var kept io.Reader
		r := jsonRequest("POST", "/p", text)
		original, in := io.Pipe()
		go func() { _, err := io.WriteString(in, text); _ = in.CloseWithError(err) }()
		r.Body = original
		o.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if kept = r.Body; closes {
				harness.Check(t, errors.Join(iotest.TestReader(r.Body, []byte(text)), r.Body.Close()))
			}
		}), nil).ServeHTTP(httptest.NewRecorder(), r)
		if _, err := original.Read(nil); r.Body != original || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the body of the request has not been put back, or not closed: %v", err)
		}
		if n, err := kept.Read(make([]byte, 10)); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("read %d bytes, %v", n, err)
		}
	}
}

func TestOperation_Handler_isSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", takesBody, anyObject, validate.Config{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				body := `{"a": "` + strings.Repeat(strconv.Itoa(i), 100+j*10) + `"}`
				if got := serve(t, o, jsonRequest("POST", "/p", body)); got.body != body {
					t.Errorf("got %q, %v", got.body, got.err)
				}
				bad := serve(t, o, jsonRequest("POST", "/p", `[`+strconv.Itoa(j)+`]`))
				if violations(bad.err) != " type" {
					t.Errorf("got %v", bad.err)
				}
			}
		})
	}
	wg.Wait()
}
