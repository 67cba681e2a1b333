package httpserver_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

// peer is a client that sends the frames of HTTP/2 itself. It receives those of the server, and reports each to
// received.
type peer struct {
	*http2.Framer

	closed chan struct{}
	block  []byte // the header block of a GET request
	stream uint32 // of the latest request
}

func newPeer(t *testing.T, p *pipes, received func(*http2.Framer, http2.Frame)) *peer {
	t.Helper()
	c := tls.Client(p.raw("192.0.2.1"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	harness.Check(t, c.HandshakeContext(t.Context()))
	harness.Try(io.WriteString(c, http2.ClientPreface))(t)
	client := &peer{Framer: http2.NewFramer(c, c), closed: make(chan struct{}), block: getBlock(), stream: math.MaxUint32}
	harness.Check(t, client.WriteSettings())
	go func() {
		defer close(client.closed)
		defer func() { _ = c.Close() }()
		answers := http2.NewFramer(c, nil) // a Framer is for one goroutine
		for {
			frame, err := client.ReadFrame()
			if err != nil {
				return
			}
			received(answers, frame)
		}
	}()
	return client
}

// fields returns the header block of fields, each with its name and its value.
func fields(all ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range all {
		name, value, _ := strings.Cut(field, " ")
		_ = encoder.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	return block.Bytes()
}

func getBlock() []byte { return fields(":method GET", ":scheme https", ":authority studio", ":path /") }

// request begins a request, and ends it if it has no body.
func (c *peer) request(end bool) error {
	c.stream += 2
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: c.block, EndHeaders: true, EndStream: end})
}

// net/http enforces the limits that it announces.
func TestListener_limitsHTTP2Connections(t *testing.T) {
	t.Parallel()
	serve(t, secureConfig(t, httpserver.Config{}), func(t *testing.T, p *pipes) {
		missing := map[http2.Setting]bool{
			{ID: http2.SettingMaxConcurrentStreams, Val: 100}: true, {ID: http2.SettingMaxFrameSize, Val: 16 << 10}: true,
			{ID: http2.SettingInitialWindowSize, Val: 256 << 10}: true, {Val: 256 << 10}: true, // the last one is the window of the connection
		}
		newPeer(t, p, func(_ *http2.Framer, frame http2.Frame) {
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				_ = frame.ForeachSetting(func(s http2.Setting) error { delete(missing, s); return nil })
			case *http2.WindowUpdateFrame:
				delete(missing, http2.Setting{Val: 65535 + frame.Increment})
			}
		})
		if synctest.Wait(); len(missing) > 0 {
			t.Errorf("the server does not announce %v", missing)
		}
	})
}

// A flood of any frame of which no handler reads much closes the connection soon, and no other one.
func TestListener_closesConnectionsThatFloodWithFrames(t *testing.T) {
	t.Parallel()
	const within = 6000 // frames
	opened := func(c *peer) error { return c.request(false) }
	ended := func(c *peer) error {
		err := c.request(true)
		time.Sleep(time.Second) // until the response
		return err
	}
	for name, flood := range map[string]struct {
		before, each func(c *peer) error
	}{
		"PING":            {nil, func(c *peer) error { return c.WritePing(false, [8]byte{}) }},
		"PING with ACK":   {nil, func(c *peer) error { return c.WritePing(true, [8]byte{}) }},
		"SETTINGS":        {nil, func(c *peer) error { return c.WriteSettings() }},
		"long SETTINGS":   {nil, func(c *peer) error { return c.WriteSettings(make([]http2.Setting, 100)...) }},
		"PRIORITY":        {nil, func(c *peer) error { return c.WritePriority(1, http2.PriorityParam{StreamDep: 3}) }},
		"WINDOW_UPDATE":   {nil, func(c *peer) error { return c.WriteWindowUpdate(0, 1) }},
		"RST_STREAM":      {opened, func(c *peer) error { return c.WriteRSTStream(1, http2.ErrCodeCancel) }},
		"unknown frames":  {nil, func(c *peer) error { return c.WriteRawFrame(0x10, 0, 0, []byte("frame")) }},
		"empty DATA":      {opened, func(c *peer) error { return c.WriteData(1, false, nil) }},
		"DATA of padding": {opened, func(c *peer) error { return c.WriteDataPadded(1, false, nil, make([]byte, 50)) }},
		"last DATA":       {ended, func(c *peer) error { return c.WriteData(1, true, nil) }},
		"short DATA":      {ended, func(c *peer) error { return c.WriteData(1, false, make([]byte, 100)) }},
		"HEADERS":         {nil, func(c *peer) error { c.block = nil; return c.request(true) }},
		"canceled streams": {nil, func(c *peer) error {
			if err := c.request(true); err != nil {
				return err
			}
			return c.WriteRSTStream(c.stream, http2.ErrCodeCancel)
		}},
		"CONTINUATION": {
			func(c *peer) error {
				return c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.block})
			},
			func(c *peer) error { return c.WriteContinuation(1, false, nil) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serveHandler(t, secureConfig(t, httpserver.Config{}), func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
			}, func(t *testing.T, p *pipes) {
				other := p.http2(t, "192.0.2.2")
				ask(t, other)
				c := newPeer(t, p, func(*http2.Framer, http2.Frame) {})
				if flood.before != nil {
					harness.Check(t, flood.before(c))
				}
				sent := 0
				for sent < within && flood.each(c) == nil {
					sent++
				}
				if sent == within {
					t.Errorf("the connection is open after %d frames", sent)
				}
				<-c.closed
				ask(t, other)
			})
		})
	}
}

// ask sends a request that must succeed.
func ask(t *testing.T, client http.RoundTripper) {
	t.Helper()
	answer := harness.Try(client.RoundTrip(post(t, nil)))(t)
	if body := harness.Try(io.ReadAll(answer.Body))(t); answer.StatusCode != http.StatusOK {
		t.Errorf("a request is answered %d %s", answer.StatusCode, body)
	}
	harness.Check(t, answer.Body.Close())
}

// Clients that ask, cancel, ping, upload, and acknowledge each frame of long or many responses keep their connection.
func TestListener_keepsConnectionsOfBusyClients(t *testing.T) {
	t.Parallel()
	const frames = 3000 // more than a burst
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.Header.Get("Wanted") {
		case "events":
			for i := range frames / 2 {
				_, _ = fmt.Fprintf(w, "data: {\"event\":%d,\"text\":\"%s\"}\n\n", i, strings.Repeat("a", 50))
				_ = http.NewResponseController(w).Flush()
			}
		case "file":
			_, _ = w.Write(make([]byte, 2<<20))
		}
	}
	// acknowledge adds to both windows after each frame with data, as a simple client does.
	acknowledge := func(f *http2.Framer, frame http2.Frame) {
		if data, ok := frame.(*http2.DataFrame); ok && len(data.Data()) > 0 {
			_ = f.WriteWindowUpdate(0, uint32(len(data.Data())))
			if !data.StreamEnded() {
				_ = f.WriteWindowUpdate(data.StreamID, uint32(len(data.Data())))
			}
		}
	}
	for name, use := range map[string]struct {
		times  int
		wanted string
		pause  time.Duration
		once   func(c *peer) error
	}{
		"requests": {frames, "", time.Millisecond, func(c *peer) error { return c.request(true) }},
		"pings":    {frames, "", 10 * time.Millisecond, func(c *peer) error { return c.WritePing(false, [8]byte{}) }},
		"cancellations": {frames / 2, "", 20 * time.Millisecond, func(c *peer) error {
			return errors.Join(c.request(true), c.WriteRSTStream(c.stream, http2.ErrCodeCancel))
		}},
		"downloads": {10, "file", time.Second, func(c *peer) error { return c.request(true) }},
		"events":    {1, "events", time.Second, func(c *peer) error { return c.request(true) }},
		"uploads": {frames / 5, "", time.Millisecond, func(c *peer) error { // in short frames, of which the last one is empty
			err := c.request(false)
			for range 3 {
				err = errors.Join(err, c.WriteData(c.stream, false, make([]byte, 100)))
			}
			return errors.Join(err, c.WriteData(c.stream, true, nil))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serveHandler(t, secureConfig(t, httpserver.Config{}), handler, func(t *testing.T, p *pipes) {
				c := newPeer(t, p, acknowledge)
				c.block = append(c.block, fields("wanted "+use.wanted)...)
				for range use.times {
					harness.Check(t, use.once(c))
					time.Sleep(use.pause)
				}
				select {
				case <-c.closed:
					t.Error("the connection is closed")
				default:
				}
			})
		})
	}
}
