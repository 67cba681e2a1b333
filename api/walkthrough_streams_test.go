package api_test

import (
	"strings"
	"testing"
)

// streams contains the edits of the walk-through that add streams. The document must be one of OpenAPI 3.2.
var streams = []edit{
	{`(?m)^paths:\n`, `  /v1/ticks:
    get:
      operationId: listTicks
      x-interface: extension
      tags: [Extensions]
      summary: List ticks
      security: [ bearerAuth: [] ]
      responses:
        '200':
          description: Ticks.
          content: { application/jsonl: { itemSchema: { $ref: '#/components/schemas/Tick' } } }
        '401': { $ref: '#/components/responses/Unauthorized' }
  /v1/ticks/events:
    get:
      operationId: watchTicks
      x-interface: extension
      tags: [Extensions]
      summary: Watch ticks
      security: [ bearerAuth: [] ]
      parameters:
        - { name: Last-Event-ID, in: header, x-interface: extension, description: Id of the last event., schema: { type: string } }
      responses:
        '200':
          description: Ticks.
          content:
            text/event-stream:
              itemSchema:
                type: object
                required: [id, data]
                properties:
                  id: { type: string }
                  data: { type: string, contentMediaType: application/json, contentSchema: { $ref: '#/components/schemas/Tick' } }
        '401': { $ref: '#/components/responses/Unauthorized' }
`},
	{`(?m)^  schemas:\n`, `    Tick:
      type: object
      x-interface: extension
      description: A tick.
      required: [n]
      properties:
        n: { type: integer, minimum: 1, x-interface: extension, description: Its number. }
`},
}

const streamHandlers = `package rest

import (
	"context"
	"strconv"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (*API) ListTicks(context.Context, gen.ListTicksRequestObject) (gen.ListTicksResponseObject, error) {
	return gen.ListTicks200JSONLResponse{Items: func(yield func(gen.Tick, error) bool) {
		for n := 1; n <= 100 && yield(gen.Tick{N: n}, nil); n++ {
		}
	}}, nil
}

func (*API) WatchTicks(_ context.Context, r gen.WatchTicksRequestObject) (gen.WatchTicksResponseObject, error) {
	after := 0
	if r.Params.LastEventID != nil {
		after, _ = strconv.Atoi(*r.Params.LastEventID)
	}
	return gen.WatchTicks200EventStreamResponse{Items: func(yield func(stream.Event[gen.Tick], error) bool) {
		for n := after + 1; n <= 100 && yield(stream.Event[gen.Tick]{ID: strconv.Itoa(n), Data: gen.Tick{N: n}}, nil); n++ {
		}
	}}, nil
}
`

const streamTest = `package clienttest_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
)

// cutting starts a proxy that cuts connections after each of the numbers of bytes, and passes the later ones on.
func cutting(t *testing.T, to string, after ...int64) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	var group sync.WaitGroup
	t.Cleanup(func() { listener.Close(); group.Wait() })
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			limit := int64(1 << 40)
			if len(after) > 0 {
				limit, after = after[0], after[1:]
			}
			service, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
			check(t, err)
			group.Go(func() { _, _ = io.Copy(service, conn) })
			group.Go(func() {
				_, _ = io.CopyN(conn, service, limit)
				conn.Close()
				service.Close()
			})
		}
	})
	return "http://" + listener.Addr().String()
}

func TestWalkthrough_readsStreams(t *testing.T) {
	s := clienttest.New(t)
	var want []int
	for n := range 100 {
		want = append(want, n+1)
	}
	start := func(cuts ...int64) *client.Client {
		c, err := client.New(client.Config{
			BaseURL: cutting(t, s.URL[len("http://"):], append([]int64{1 << 20}, cuts...)...), // the first connection is that of the login
			Email:   s.Email, Password: client.Credential(s.Password), Retry: client.Retry{BaseDelay: 1},
		})
		check(t, err)
		return c
	}
	var got []int
	for tick, err := range start(1000, 700, 1200).WatchTicks(t.Context()) {
		check(t, err)
		got = append(got, tick.Data.N)
	}
	if requests := len(s.Requests("watchTicks")); !slices.Equal(got, want) || requests != 4 {
		t.Errorf("%d requests: %d", requests, got)
	}

	got = nil
	c := start(1000)
	for tick, err := range c.ListTicks(t.Context()) {
		if err == nil {
			got = append(got, tick.N)
		} else if !errors.Is(err, client.ErrCut) || len(got) == 0 || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%d, error %v", got, err)
		}
	}
	got = nil
	for tick, err := range c.ListTicks(t.Context()) {
		check(t, err)
		got = append(got, tick.N)
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines %d", got)
	}
}
`

// The handlers of both streams have at most 20 lines.
func TestWalkthrough_streamsNeedLittleCode(t *testing.T) {
	t.Parallel()
	_, functions, _ := strings.Cut(streamHandlers, "\n)\n")
	if lines := strings.Count(strings.ReplaceAll(functions, "\n\n", "\n"), "\n"); lines > 20 {
		t.Errorf("%d lines", lines)
	}
}
