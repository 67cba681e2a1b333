package bench_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

const (
	bareLines     = "bare JSON lines"
	ourLines      = "JSON lines"
	bareEvents    = "bare server-sent events"
	ourEvents     = "server-sent events"
	streamsPath   = "/items"
	itemsHeader   = "X-Items"
	streamedItems = `{"openapi": "3.2.0", "info": {"title": "T", "version": "1"}, "paths": {"/items": {"get": {"responses": {"200": {"description": "D", "content": {
		"application/jsonl": {"itemSchema": {"$ref": "#/components/schemas/Item"}},
		"text/event-stream": {"itemSchema": {"type": "object", "required": ["data"], "properties": {"id": {"type": "string"}, "data": {
			"type": "string", "contentMediaType": "application/json", "contentSchema": {"$ref": "#/components/schemas/Item"}}}}}}}}}}},
	"components": {"schemas": {"Item": {"type": "object", "required": ["id", "title", "status", "created_at"], "properties": {
		"id": {"type": "string", "format": "uuid"}, "title": {"type": "string", "maxLength": 200}, "status": {"enum": ["pending", "processing", "completed"]},
		"created_at": {"type": "string", "format": "date-time"}, "progress": {"type": "integer", "minimum": 0, "maximum": 100},
		"url": {"type": "string"}}}}}}`
)

// streamItem has 200 bytes of JSON.
type streamItem struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	Progress  int       `json:"progress"`
	URL       *string   `json:"url,omitempty"`
}

func itemsOf(r *http.Request) iter.Seq2[streamItem, error] {
	n, _ := strconv.Atoi(r.Header.Get(itemsHeader)) // 0 is a silent stream
	return func(yield func(streamItem, error) bool) {
		item := streamItem{
			ID: "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10", Title: "Good morning, Ada, from us all", Status: "processing",
			CreatedAt: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC), URL: new("https://media.example.com/ada.mp4"),
		}
		for i := range n {
			if item.Progress = 10 + i%90; !yield(item, nil) {
				return
			}
		}
		if n == 0 {
			<-r.Context().Done()
		}
	}
}

// streamVariants serve the same items. Each second one sends the same bytes as the one before it, which is its floor.
func streamVariants() []variant {
	return []variant{
		{name: bareLines, build: func() (http.Handler, error) {
			return bareStream("application/jsonl", func(_ io.Writer, encode func(any) error, item streamItem) error { return encode(item) })
		}, description: "a handler that writes each item with json.Encoder and flushes; no checks"},
		{name: ourLines, build: func() (http.Handler, error) {
			return buildStream(func(w http.ResponseWriter, r *http.Request) error {
				return stream.Send(w, http.StatusOK, "application/jsonl", itemsOf(r), nil)
			})
		}, checks: true, description: "JSON lines of package stream, as the generated code sends them, each checked by package validate"},
		{name: bareEvents, build: func() (http.Handler, error) {
			return bareStream("text/event-stream", func(w io.Writer, encode func(any) error, item streamItem) error {
				_, before := io.WriteString(w, "id: "+item.ID+"\ndata: ")
				err := encode(item)
				_, after := io.WriteString(w, "\n")
				return cmp.Or(before, err, after)
			})
		}, description: "the same for events with an id"},
		{name: ourEvents, build: func() (http.Handler, error) {
			return buildStream(func(w http.ResponseWriter, r *http.Request) error {
				return stream.SendEvents(w, http.StatusOK, "text/event-stream", func(yield func(stream.Event[streamItem], error) bool) {
					for item, err := range itemsOf(r) {
						if !yield(stream.Event[streamItem]{ID: item.ID, Data: item}, err) {
							return
						}
					}
				}, nil)
			})
		}, checks: true, description: "the same for events with an id"},
	}
}

func bareStream(mediaType string, write func(w io.Writer, encode func(any) error, item streamItem) error) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		encoder, control := json.NewEncoder(w), http.NewResponseController(w)
		_ = control.Flush()
		for item, err := range itemsOf(r) {
			if err != nil || write(w, encoder.Encode, item) != nil || control.Flush() != nil {
				return
			}
		}
	}), nil
}

func buildStream(send func(http.ResponseWriter, *http.Request) error) (http.Handler, error) {
	validator, err := validate.Load([]byte(streamedItems), validate.Config{})
	if err != nil {
		return nil, err
	}
	operation, _ := validator.Operation(http.MethodGet, streamsPath)
	return operation.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, r, stop := stream.Open(&checkedResponse{ResponseWriter: w, operation: operation}, r)
		defer stop()
		if err := send(w, r); err != nil {
			stream.Fail(w, []byte(err.Error()))
		}
	}), nil), nil
}

// checkedResponse checks the items of a stream, as server.New does with ResponsesEnforced.
type checkedResponse struct {
	http.ResponseWriter
	operation *validate.Operation
	items     *validate.Items
}

func (w *checkedResponse) WriteHeader(status int) {
	_, w.items, _ = w.operation.ResponseHeader(status, w.Header())
	w.ResponseWriter.WriteHeader(status)
}

func (w *checkedResponse) CheckItem(item []byte) error { return w.items.Check(item) }

func (w *checkedResponse) CheckEvent(event stream.Frame) error { return w.items.CheckEvent(event) }

func (w *checkedResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// openStream requests a stream of n items from a child. The connection closes after the last item.
func openStream(t *testing.T, c *child, n int) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", strings.TrimPrefix(c.url, "http://"))
	harness.Check(t, err)
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s: %d\r\n\r\n", streamsPath, itemsHeader, n)
	harness.Check(t, err)
	return conn
}

// readStream returns the CPU time of an item in a stream of n items.
func readStream(t *testing.T, c *child, n int) cost {
	t.Helper()
	used := c.do(job{}).CPU
	conn := openStream(t, c, n)
	defer conn.Close()
	size, err := io.Copy(io.Discard, conn)
	harness.Check(t, err)
	if size < int64(n)*200 {
		t.Fatalf("a stream of %d items has %d bytes", n, size)
	}
	return cost{CPU: (c.do(job{}).CPU - used) / float64(n)}
}

// silentMemory returns the memory of each of n open streams that are silent.
func silentMemory(t *testing.T, c *child, n int) cost {
	t.Helper()
	before := c.do(job{Memory: true}).Bytes
	for range n {
		conn := openStream(t, c, 0)
		defer conn.Close()
		_, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 200")))
		harness.Check(t, err)
	}
	return cost{Bytes: (c.do(job{Memory: true}).Bytes - before) / float64(n)}
}

// memory returns the memory that this process uses for its heap and stacks.
func memory() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc + stats.StackInuse)
}

// measureStreams measures streams of items, and streams that are open and silent.
func (r *results) measureStreams(t *testing.T) {
	t.Helper()
	var children []*child
	for _, v := range streamVariants() {
		children = append(children, startChild(t, v.name))
	}
	r.sent = alternate(children, r.streamRounds, func(c *child) cost { return readStream(t, c, r.streamItems) })
	r.silent = alternate(children, 1, func(c *child) cost { return silentMemory(t, c, r.silentStreams) })
}

func (r *results) streamTable() string {
	var b strings.Builder
	b.WriteString("| Variant | server CPU ns/item | × bare | KB of a silent stream | Description |\n|---|--:|--:|--:|---|\n")
	for i, v := range streamVariants() {
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.1f | %s |\n", v.name, r.sent[i].median(cost.cpu),
			r.sent[i].ratio(r.sent[i&^1], cost.cpu), r.silent[i].median(cost.bytes)/1e3, v.description)
	}
	return b.String()
}
