package stream_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

const (
	sse   = "text/event-stream"
	lines = "application/jsonl"
	limit = 40
)

// read returns the items of a body as text, and the error after them. A body that arrives byte by byte has the same
// items.
func read(t *testing.T, contentType, body string) (items []string, err error) {
	t.Helper()
	for i, source := range []io.Reader{iotest.OneByteReader(strings.NewReader(body)), iotest.HalfReader(strings.NewReader(body)), iotest.DataErrReader(strings.NewReader(body))} {
		got, gotErr := readFrom(t, contentType, source)
		if i > 0 && (!slices.Equal(items, got) || fmt.Sprint(gotErr) != fmt.Sprint(err)) {
			t.Fatalf("%q depends on how it arrives: %q, %v and %q, %v", body, items, err, got, gotErr)
		}
		items, err = got, gotErr
	}
	return items, err
}

func readFrom(t *testing.T, contentType string, body io.Reader) (items []string, err error) {
	t.Helper()
	r, err := stream.NewReader(body, contentType, limit)
	if err != nil {
		return nil, err
	}
	for {
		f, err := r.Next()
		if err != nil {
			if _, again := r.Next(); again != err {
				t.Errorf("the error changes from %v to %v", err, again)
			}
			id, _ := r.LastID()
			return append(items, fmt.Sprintf("last %q, retry %v", id, r.Retry())), err
		}
		items = append(items, item(f))
	}
}

func item(f stream.Frame) string {
	text := fmt.Sprintf("%q", f.Data)
	if len(f.Event) > 0 || f.ID != nil || f.Retry > 0 {
		text += fmt.Sprintf(" %s %q %v", f.Event, f.ID, f.Retry)
	}
	return text
}

func TestReader_readsEveryFormat(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", limit)
	for _, c := range []struct {
		contentType, body string
		want              string // items
		err               error  // io.EOF if nil
	}{
		// The examples of the HTML Living Standard.
		{sse, "data: YHOO\ndata: +2\ndata: 10\n\n", `"YHOO\n+2\n10"`, nil},
		{sse, ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n", `"first event"  "1" 0s; "second event"  "" 0s; " third event"`, nil},
		{sse, "data\n\ndata\ndata\n\ndata:", `""; "\n"`, stream.ErrTruncated},
		{sse, "data:test\n\ndata: test\n\n", `"test"; "test"`, nil},
		// What the tests of web-platform-tests cover.
		{sse, "\ufeffdata:1\n\n\ufeffdata:2\n\ndata:3\n\n", `"1"; "3"`, nil},
		{sse, "\ufeff\ufeffdata:1\n\n", "", nil},
		{sse, "data:1\r\rdata:2\n\rdata:3\r\n\r\ndata:4\r\ndata:5\r\r\n", `"1"; "2"; "3"; "4\n5"`, nil},
		{sse, "event: a\ndata:1\n\ndata:2\n\nevent:b\n\ndata:3\n\n", `"1" a "" 0s; "2"; "3"`, nil},
		{sse, "id: 1\x002\ndata:1\n\nid:7\n\ndata:2\n\n", `"1"; "2"`, nil},
		{sse, "Data:1\ndata :2\n data:3\nfoo\n:data:4\nid:\n\n", "", nil},
		{sse, "retry: 1500\n\nretry:2x\ndata:1\n\nretry\ndata:2\nretry:99999999999999999999\n\n", `"1"; "2"  "" 596h31m23.647s`, nil},
		{sse, "data:\xe2\x82\xac\xff\n\n", `"€�"`, nil},
		{sse, "", "", nil},
		{sse, ": alive\n", "", nil},
		{sse, "id:8\n", "", stream.ErrTruncated},
		{sse, "data:1\n\nid:8\ndata:2\n", `"1"`, stream.ErrTruncated},
		{sse, "data: " + long + "\r\n\r\n", fmt.Sprintf("%q", long), nil},
		{sse, "data: " + long + "x\n\n", "", stream.ErrTooLarge},
		{sse, "data:" + long[1:] + "\ndata:x\n\n", "", stream.ErrTooLarge},
		{sse, ":" + long + long + "\n", "", stream.ErrTooLarge},

		{lines, "{\"a\":1}\n \r\n\n[2]\r\n3\n", `"{\"a\":1}"; "[2]"; "3"`, nil},
		{lines, "\ufeff{}\n{\"b\":2}", `"{}"; "{\"b\":2}"`, nil},
		{lines, "1\r2\n", `"1\r2"`, nil},
		{lines, "{}\n12", `"{}"`, stream.ErrTruncated},
		{lines, "{}\n{\"a\":", `"{}"`, stream.ErrTruncated},
		{"application/x-ndjson; charset=utf-8", long + "\r\n", fmt.Sprintf("%q", long), nil},
		{lines, long + "x\n", "", stream.ErrTooLarge},
		{lines, "1\n" + long + long, `"1"`, stream.ErrTooLarge},

		{"application/json", "{}", "", stream.ErrMalformed},
	} {
		items, err := read(t, c.contentType, c.body)
		got := strings.Join(items[:max(0, len(items)-1)], "; ")
		want := c.err
		if want == nil {
			want = io.EOF
		}
		if got != c.want || !errors.Is(err, want) {
			t.Errorf("%s %q: %s, %v; want %s, %v", c.contentType, c.body, got, err, c.want, want)
		}
	}
}

// The id is that of the last complete event, and the time to wait is the last one.
func TestReader_remembersIDAndRetry(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"id:1\ndata:1\n\nretry:5\n\n":            `last "1", retry 5ms`,
		"id:1\ndata:1\n\nid:2\n\nid:3\ndata:3\n": `last "2", retry 0s`,
		"id:1\ndata:1\n\nid\n\n":                 `last "", retry 0s`,
	} {
		if items, _ := read(t, sse, body); items[len(items)-1] != want {
			t.Errorf("%q: %s", body, items[len(items)-1])
		}
	}
}

// An item is returned when it has arrived, not when the next one begins.
func TestReader_waitsForNoFurtherByte(t *testing.T) {
	t.Parallel()
	for contentType, body := range map[string]string{
		sse: "data:1\r\r", lines: "1\n",
	} {
		failure := errors.New("more was read")
		r, err := stream.NewReader(io.MultiReader(strings.NewReader(body), iotest.ErrReader(failure)), contentType, limit)
		harness.Check(t, err)
		if f, err := r.Next(); string(f.Data) != "1" {
			t.Errorf("%s: %q, %v", contentType, f.Data, err)
		}
		if _, err := r.Next(); err != failure {
			t.Errorf("%s: the error of the body is %v", contentType, err)
		}
	}
}

func TestFormat_appendsWhatReaderReads(t *testing.T) {
	t.Parallel()
	for contentType, items := range map[string][]stream.Frame{
		sse:   {{ID: []byte("1"), Event: []byte("a"), Retry: time.Second, Data: []byte("x\n y\n")}, {Data: []byte{}}},
		lines: {{Data: []byte("{}")}, {Data: []byte("1")}},
	} {
		format, _ := stream.FormatOf(contentType)
		body := harness.Try(format.Append(nil, items[0]))(t)
		body = harness.Try(format.Append(body, items[1]))(t)
		got, err := read(t, contentType, string(body))
		if err != io.EOF || len(got) != 3 || got[0] != item(items[0]) || got[1] != item(items[1]) {
			t.Errorf("%s: %q is %q, %v", contentType, body, got, err)
		}
	}
	if _, err := stream.Events.Append(nil, stream.Frame{ID: []byte("1\n2")}); err == nil {
		t.Error("an id of two lines is written")
	}
}

func TestFrame_showsProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ contentType, body, want string }{
		{sse, "event: error\ndata: {}\n\n", "{}"},
		{sse, "data: {}\n\n", ""},
		{lines, `{"error":{"a":1}}`, `{"a":1}`},
		{lines, `{"error":"a"}`, ""},
		{lines, `{"a":1}`, ""},
	} {
		r := harness.Try(stream.NewReader(strings.NewReader(c.body), c.contentType, limit))(t)
		if f, err := r.Next(); err != nil || string(f.Problem()) != c.want {
			t.Errorf("%q: %q, %v", c.body, f.Problem(), err)
		}
	}
}

func TestReader_allocatesNothingForAnItem(t *testing.T) {
	for contentType, item := range map[string]string{
		sse: "id: 17\nevent: tick\nretry: 1000\ndata: {\"a\":1}\n\n", lines: "{\"a\":1}\n",
	} {
		r := harness.Try(stream.NewReader(strings.NewReader(strings.Repeat(item, 3000)), contentType, limit))(t)
		if n := testing.AllocsPerRun(1000, func() {
			for range 2 {
				if f, err := r.Next(); err != nil || string(f.Data) != `{"a":1}` {
					t.Fatal(f, err)
				}
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations for two items", contentType, n)
		}
	}
}

// No body causes a panic, and how it arrives makes no difference.
func FuzzReader(f *testing.F) {
	for _, body := range []string{"\ufeffdata: a\r\ndata\r\rid:1\n\n", ":c\nevent:e\rretry:5\ndata:1\n\r", "{}\n1"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, contentType := range []string{sse, lines} {
			if _, err := read(t, contentType, body); err == nil {
				t.Errorf("%q has no end", body)
			}
		}
	})
}
