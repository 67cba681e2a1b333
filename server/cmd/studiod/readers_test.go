package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// fillWorkspace adds a workspace with 20,000 projects.
func fillWorkspace(t *testing.T, dsn string) (service *studio.Service, workspace string) {
	t.Helper()
	db, err := store.Open(t.Context(), dsn, store.Config{})
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	service = studioOf(db)
	team, err := service.AddWorkspace(t.Context(), "", "Team")
	check(t, err)
	projects := make([]studio.Project, 10_000)
	for batch := range 2 {
		for i := range projects {
			projects[i] = studio.Project{
				ID: fmt.Sprint(batch, "-", i), WorkspaceID: team.ID, UserID: team.ID, CreatedAt: time.Now(),
				Document: fmt.Sprintf(`{"title":"%01000d"}`, i),
			}
		}
		_, err := service.ImportProjects(t.Context(), projects)
		check(t, err)
	}
	return service, team.ID
}

// fill adds a member to a workspace, with 100 records of each kind, and 64 large ones that are rendered for as long as
// the test runs.
func fill(t *testing.T, service *studio.Service, email, workspace string) {
	t.Helper()
	user, err := service.AddUser(t.Context(), "", email, testPassword)
	check(t, err)
	check(t, service.AddMember(t.Context(), workspace, email))
	for range 64 {
		_, err := service.CreateLipsync(t.Context(), studio.Creation{UserID: user.ID, Request: fmt.Appendf(nil, `{"title":"%0200000d"}`, 1)})
		check(t, err)
	}
	creation := studio.Creation{UserID: user.ID, Request: fmt.Appendf(nil, `{"text":"%01000d"}`, 1)}
	for range 100 {
		avatar, err := service.CreateAvatar(t.Context(), creation)
		check(t, err)
		_, err = service.SubmitConsent(t.Context(), user.ID, avatar.ID, true)
		check(t, err)
		_, err = service.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil)
		check(t, err)
		_, err = service.CreateVideo(t.Context(), avatar.ID, creation)
		check(t, err)
		_, err = service.CreateLipsync(t.Context(), creation)
		check(t, err)
	}
}

// resource is something that a daemon serves.
type resource struct {
	name, path string
	header     []string // names in lower case, each with its value
	body       string   // the request is a POST if it has one
	url        string   // of the server; the default is the daemon's
	divide     int
}

// resources returns everything that a process serves and that may be large. The operators' server has no TLS, and
// therefore no HTTP/2.
func resources(t *testing.T, p *process, email, workspace string) []resource {
	t.Helper()
	pair := login(t, p.URL, email)
	cookie := consoleCookie(t, p.URL, pair.RefreshToken)
	user, page := []string{"authorization", "Bearer " + pair.AccessToken}, []string{"cookie", cookie}
	all := []resource{
		{name: "the script of /docs", path: "/docs/swagger-ui-bundle.js"},
		{name: "the compressed script of /docs", path: "/docs/swagger-ui-bundle.js", header: []string{"accept-encoding", "gzip"}},
		{name: "/docs", path: "/docs"},
		{name: "/openapi.json", path: "/openapi.json"},
		{name: "/openapi.yaml", path: "/openapi.yaml"},
		{name: "problems", path: "/nowhere"},
		{name: "projects", path: "/projects/v2", header: append([]string{"x-workspace-id", workspace}, user...)},
		{name: "avatars", path: "/v1/avatars/list?limit=100", header: user},
		{name: "videos", path: "/v1/avatars/list_inferences?limit=100", header: user},
		{name: "lip-syncs", path: "/v1/lipsync/list?limit=100", header: user},
		{name: "files", path: uploadFile(t, p.URL, pair.AccessToken)},
		{name: "a script of the console", path: "/console/assets/htmx.min.js"},
		{name: "the login of the console", path: "/console/login"},
		{name: "lip-syncs in the console", path: "/console/lipsyncs", header: page},
		{name: "projects in the console", path: "/console/projects?workspace=" + workspace, header: page},
		{name: "event streams of the console", path: "/console/lipsyncs/live", header: page},
		{
			name: "creations with long titles", path: "/v1/lipsync/create_lipsync", header: append([]string{"content-type", "application/json"}, user...),
			body: `{"title":"` + strings.Repeat("a", 200<<10) + `"}`, divide: 8,
		},
		{name: "lip-syncs with long titles", path: "/v1/lipsync/list?limit=100", header: user},
		{name: "long titles in the console", path: "/console/lipsyncs", header: page},
	}
	if strings.HasPrefix(p.URL, "http:") {
		for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
			all = append(all, resource{name: path, path: path, url: p.AdminURL})
		}
	}
	return all
}

// uploadFile uploads 16 MiB and returns the path of the file.
func uploadFile(t *testing.T, url, token string) (path string) {
	t.Helper()
	_, content := ask(t, http.MethodPost, url+uploadPath, string(make([]byte, 16<<20)), "Content-Type: video/mp4", bearer(token))
	var file gen.Media
	check(t, json.Unmarshal([]byte(content), &file))
	return strings.TrimPrefix(file.URL, url)
}

func (r resource) method() string {
	if r.body != "" {
		return http.MethodPost
	}
	return http.MethodGet
}

// overHTTP1 requests the resource once on each connection, and reads a byte a second.
func (r resource) overHTTP1() *crowd {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: studio\r\nContent-Length: %d\r\n", r.method(), r.path, len(r.body))
	for i := 0; i < len(r.header); i += 2 {
		head += r.header[i] + ": " + r.header[i+1] + "\r\n"
	}
	return &crowd{name: r.name + " over HTTP/1.1", url: r.url, divide: r.divide, small: true, behave: func(ctx context.Context, c net.Conn, _ string) {
		_, err := io.WriteString(c, head+"\r\n"+r.body)
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for err == nil && ctx.Err() == nil {
			_, err = c.Read(make([]byte, 1))
			select {
			case <-ctx.Done():
			case <-second.C:
			}
		}
	}}
}

// overHTTP2 requests the resource a hundred times at once on each connection. Half of the connections have windows of
// size 0, and repeat requests that are aborted. The others have large windows, and read nothing.
func (r resource) overHTTP2() *crowd {
	var connections atomic.Int64
	return &crowd{name: r.name + " over HTTP/2", url: r.url, small: true, pause: 500 * time.Millisecond, behave: func(_ context.Context, c net.Conn, _ string) {
		secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if _, err := io.WriteString(secure, http2.ClientPreface); err != nil {
			return
		}
		s := &streams{resource: r, framer: http2.NewFramer(secure, secure), next: 1, due: 100}
		if r.body != "" {
			s.due = 1 // the daemon accepts 256 KiB
		}
		if connections.Add(1)%2 == 0 {
			_ = s.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: math.MaxInt32})
			_ = s.framer.WriteWindowUpdate(0, 1<<30)
			s.request()
			ticker := time.NewTicker(100 * time.Millisecond)
			defer ticker.Stop()
			for s.framer.WritePing(false, [8]byte{}) == nil { // until the connection is closed
				<-ticker.C
			}
			return
		}
		_ = s.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		s.request()
		ticker, ended := time.NewTicker(10*time.Second), make(chan struct{})
		defer ticker.Stop()
		defer close(ended)
		go func() {
			for {
				select {
				case <-ticker.C:
					s.request()
				case <-ended:
					return
				}
			}
		}()
		var err error
		for err == nil {
			err = s.read()
		}
	}}
}

// streams are the requests on a connection of HTTP/2.
type streams struct {
	resource
	framer *http2.Framer // reads without the mutex

	mu   sync.Mutex
	next uint32 // id of the next stream
	due  int    // requests to be sent
}

func (s *streams) request() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.due > 0; s.due-- {
		var fields bytes.Buffer
		encoder := hpack.NewEncoder(&fields)
		header := append([]string{":method", s.method(), ":scheme", "https", ":authority", "studio", ":path", s.path}, s.header...)
		for i := 0; i < len(header); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: header[i], Value: header[i+1], Sensitive: true}) // the server keeps no state
		}
		_ = s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: s.next, BlockFragment: fields.Bytes(), EndHeaders: true, EndStream: s.body == ""})
		for body := s.body; body != ""; {
			part := body[:min(len(body), 16<<10)]
			body = body[len(part):]
			_ = s.framer.WriteData(s.next, body == "", []byte(part))
		}
		s.next += 2
	}
}

// read handles a frame of the server.
func (s *streams) read() error {
	frame, err := s.framer.ReadFrame()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			err = cmp.Or(err, s.framer.WriteSettingsAck())
		}
	case *http2.PingFrame:
		err = cmp.Or(err, s.framer.WritePing(true, frame.Data))
	case *http2.RSTStreamFrame:
		s.due++
	}
	return err
}
