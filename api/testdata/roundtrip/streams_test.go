package roundtrip

import (
	"bufio"
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

	"github.com/avatarstudio/avatarstudio/api/stream"
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

func (s *service) SendEvents(_ context.Context, r gen.SendEventsRequestObject) (gen.SendEventsResponseObject, error) {
	return gen.SendEvents200EventStreamResponse{Items: r.Body}, nil
}

// SendLines responds to each item as soon as it has arrived.
func (s *service) SendLines(_ context.Context, r gen.SendLinesRequestObject) (gen.SendLinesResponseObject, error) {
	return gen.SendLines200JSONLResponse{Items: func(yield func(gen.Thing, error) bool) {
		for patch, err := range r.Body {
			title, _ := json.Marshal(patch.Title)
			if !yield(gen.Thing{Free: title}, err) {
				return
			}
		}
	}}, nil
}

func (s *service) ListFormats(_ context.Context, r gen.ListFormatsRequestObject) (gen.ListFormatsResponseObject, error) {
	pairs := func(yield func(gen.Pair, error) bool) { yield(gen.Pair{Name: "a"}, nil) }
	switch *r.Params.Format {
	case "ndjson":
		return gen.ListFormats200NDJSONResponse{Items: pairs}, nil
	case "json-seq":
		return gen.ListFormats200JSONSeqResponse{Items: pairs}, nil
	case "mixed":
		return gen.ListFormats200MixedResponse{Items: pairs}, nil
	case "jsonl":
		return gen.ListFormats200JSONLResponse{Items: func(yield func(gen.ListFormatsItem, error) bool) {
			_ = yield(gen.ListFormatsItem{Line: 1}, nil) && yield(gen.ListFormatsItem{}, &server.Error{Status: http.StatusConflict, Code: "late"})
		}}, nil
	}
	return gen.ListFormats200JSONResponse{{Name: "a"}}, nil
}

func (s *service) SendFormats(_ context.Context, r gen.SendFormatsRequestObject) (gen.SendFormatsResponseObject, error) {
	var names []string
	for _, items := range []iter.Seq2[gen.Pair, error]{r.JSONSeqBody, r.MixedBody} {
		if items == nil {
			continue
		}
		for item, err := range items {
			if err != nil {
				return nil, err
			}
			names = append(names, item.Name)
		}
	}
	s.got = strings.Join(names, " ")
	return gen.SendFormats204Response{}, nil
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
	s, _, listener := start(t)
	for format, want := range map[string]string{"ndjson": "application/x-ndjson", "json-seq": "application/json-seq", "mixed": "multipart/mixed", "": "application/json"} {
		response, err := http.Get(listener.URL + "/roundtrip/formats?format=" + format)
		check(t, err)
		contentType := response.Header.Get("Content-Type")
		body, err := io.ReadAll(response.Body)
		check(t, errors.Join(err, response.Body.Close()))
		if !strings.HasPrefix(contentType, want) || !bytes.Contains(body, []byte(`{"name":"a"}`)) {
			t.Errorf("%s: %s %q", format, contentType, body)
		}
		sent, err := http.Post(listener.URL+"/roundtrip/formats", contentType, bytes.NewReader(body))
		check(t, err)
		_ = sent.Body.Close()
		if named := map[string]any{"json-seq": "a", "mixed": "a", "": ""}[format]; named != nil && (sent.StatusCode != http.StatusNoContent || s.got != named) {
			t.Errorf("%s: %d %v", format, sent.StatusCode, s.got)
		}
	}
}

// The service responds to an item before it has read the next one.
func TestStreams_runInBothDirections(t *testing.T) {
	t.Parallel()
	_, _, listener := start(t)
	body, items := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, listener.URL+"/roundtrip/lines", body)
	check(t, err)
	request.Header.Set("Content-Type", "application/jsonl")
	go func() { _, _ = io.WriteString(items, "{\"title\":\"a\"}\n") }()
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for _, exchange := range []struct{ next, want string }{
		{"{\"title\":null}\n", `{"free":"a"}`},
		{"{\"count\":1}\n", `{"free":null}`},
		{"{\"title\":2}\n", `{"free":null}`},
		{"", `{"error":{`},
	} {
		line, err := lines.ReadString('\n')
		if !strings.Contains(line, exchange.want) || err != nil {
			t.Fatalf("%q, %v, want %s", line, err, exchange.want)
		}
		_, _ = io.WriteString(items, exchange.next)
	}
	check(t, items.Close())
}

func TestStreams_returnTheItemsOfTheRequest(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	events := []stream.Event[string]{{Event: "a", Data: "1\n2"}, {Data: ""}, {Data: "{}"}, {Data: strings.Repeat("x", 21)}}
	var got []stream.Event[string]
	var last error
	for event, err := range c.SendEvents(t.Context(), itemsOf(events)) {
		if last = err; err == nil {
			got = append(got, *event)
		}
	}
	if !slices.Equal(got, events[:3]) || !errors.Is(last, client.ErrInvalid) {
		t.Errorf("%+v, %v", got, last)
	}
	var titles []string
	for thing, err := range c.SendLines(t.Context(), itemsOf([]gen.ThingPatch{{Title: gen.Value("ä")}, {Title: gen.Null[string]()}})) {
		check(t, err)
		titles = append(titles, string(thing.Free))
	}
	if !slices.Equal(titles, []string{`"ä"`, "null"}) {
		t.Errorf("%q", titles)
	}
}

func itemsOf[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range all {
			if !yield(item, nil) {
				return
			}
		}
	}
}
