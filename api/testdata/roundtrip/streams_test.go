package roundtrip

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

func (s *service) WatchThings(_ context.Context, r gen.WatchThingsRequestObject) (gen.WatchThingsResponseObject, error) {
	if r.Params.LastEventID != nil && *r.Params.LastEventID == "unknown" {
		return nil, &server.Error{Status: http.StatusConflict}
	}
	return gen.WatchThings200EventStreamResponse{Items: func(yield func(stream.Event[gen.WatchThingsData], error) bool) {
		_ = yield(stream.Event[gen.WatchThingsData]{ID: "1", Event: "pair", Retry: time.Second, Data: gen.WatchThingsData{Pair: &gen.Pair{Name: "n"}}}, nil)
		data := gen.WatchThingsData{WatchThingsGone: &gen.WatchThingsGone{Why: "\n\"ü\""}}
		_ = yield(stream.Event[gen.WatchThingsData]{ID: "2", Event: "gone", Data: data}, nil)
		if r.Params.LastEventID != nil { // an event that the document does not describe
			yield(stream.Event[gen.WatchThingsData]{ID: "3", Event: "other", Data: data}, nil)
		}
	}}, nil
}

func (s *service) ListLines(context.Context, gen.ListLinesRequestObject) (gen.ListLinesResponseObject, error) {
	return gen.ListLines200JSONLResponse{Items: func(yield func(gen.Thing, error) bool) {
		_ = yield(gen.Thing{Free: json.RawMessage(`"\u00e4"`)}, nil) && yield(gen.Thing{Free: json.RawMessage("null")}, nil)
	}}, nil
}

func (s *service) ListFormats(_ context.Context, r gen.ListFormatsRequestObject) (gen.ListFormatsResponseObject, error) {
	pairs := func(yield func(gen.Pair, error) bool) { yield(gen.Pair{Name: "a"}, nil) }
	switch *r.Params.Format {
	case "ndjson":
		return gen.ListFormats200NDJSONResponse{Items: pairs}, nil
	case "jsonl":
		return gen.ListFormats200JSONLResponse{Items: func(yield func(gen.ListFormatsItem, error) bool) {
			_ = yield(gen.ListFormatsItem{Line: 1}, nil) && yield(gen.ListFormatsItem{}, &server.Error{Status: http.StatusConflict, Code: "late"})
		}}, nil
	}
	return gen.ListFormats200JSONResponse{{Name: "a"}}, nil
}

func TestStreams_deliverTypedEvents(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	var got []string
	for event, err := range c.WatchThings(t.Context()) {
		check(t, err)
		switch event.Event {
		case "pair":
			got = append(got, event.ID+event.Data.Pair.Name+event.Retry.String())
		case "gone":
			got = append(got, event.ID+event.Data.WatchThingsGone.Why)
		}
	}
	if want := []string{"1n1s", "2\n\"ü\""}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// An error before the stream is an ordinary response. An item that does not match ends the stream.
func TestStreams_reportErrors(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	last := func(items iter.Seq2[*stream.Event[gen.WatchThingsData], error]) (count int, err error) {
		for _, err = range items {
			count++
		}
		return count, err
	}
	if _, err := last(c.WatchThings(t.Context(), client.After("unknown"))); !errors.Is(err, client.ErrConflict) {
		t.Error(err)
	}
	if count, err := last(c.WatchThings(t.Context(), client.After("0"), client.WithRetry(client.Retry{Attempts: 1}))); count != 3 || !errors.Is(err, client.ErrServer) {
		t.Error(count, err)
	}
	count := 0
	var last2 error
	for _, err := range c.ListFormatsStream(t.Context(), client.ListFormatsParams{Format: new("jsonl")}) {
		count, last2 = count+1, err
	}
	if failed, ok := errors.AsType[*client.Error](last2); count != 2 || !ok || failed.StatusCode != http.StatusConflict || *failed.Problem.Code != "late" {
		t.Error(count, last2)
	}
}

func TestStreams_haveTheFormatOfTheResponse(t *testing.T) {
	t.Parallel()
	_, _, listener := start(t)
	for format, want := range map[string]string{"ndjson": "application/x-ndjson", "": "application/json"} {
		response, err := http.Get(listener.URL + "/roundtrip/formats?format=" + format)
		check(t, err)
		contentType := response.Header.Get("Content-Type")
		body, err := io.ReadAll(response.Body)
		check(t, errors.Join(err, response.Body.Close()))
		if !strings.HasPrefix(contentType, want) || !bytes.Contains(body, []byte(`{"name":"a"}`)) {
			t.Errorf("%s: %s %q", format, contentType, body)
		}
	}
}

func TestStreams_keepLines(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	var free []string
	for thing, err := range c.ListLines(t.Context()) {
		check(t, err)
		free = append(free, string(thing.Free))
	}
	if !slices.Equal(free, []string{`"\u00e4"`, "null"}) {
		t.Errorf("%q", free)
	}
}
