package clienttest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// script calls a target and writes a transcript of the responses.
type script struct {
	target
	http  http.Client
	token string
	names map[string]string // placeholders for ids and other values that differ between runs, in the order of their first appearance
	lines []string

	inbox string
	mu    sync.Mutex
	came  []string
}

type answer struct {
	status int
	header http.Header
	body   string
}

func playTo(t *testing.T, to target) []string {
	t.Helper()
	s := &script{target: to, names: map[string]string{}, http: http.Client{Transport: &http.Transport{}}}
	t.Cleanup(s.http.CloseIdleConnections)
	inbox := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if err := webhook.Verify(r.Header, body, time.Now(), to.secret); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.came = append(s.came, r.Header.Get(webhook.HeaderSequence)+" "+r.Header.Get("Content-Type")+" "+string(body))
	}))
	t.Cleanup(inbox.Close)
	s.inbox = inbox.URL + "/hooks?key=value"
	s.users(t)
	s.creations(t)
	s.avatars(t)
	s.lipsyncs(t)
	s.lists(t)
	s.deletions(t)
	s.webhooks(t)
	s.lockout(t)
	return s.lines
}

func (s *script) send(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	check(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := s.http.Do(request)
	check(t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	check(t, err)
	return answer{response.StatusCode, response.Header, string(read)}
}

// call sends a request, writes the response to the transcript, and returns the string members of its body.
func (s *script) call(t *testing.T, method, path, body string, headers ...string) map[string]string {
	t.Helper()
	got := s.send(t, method, path, body, headers...)
	line := []string{method, path, shorten(body), strings.Join(headers, ", "), "\n", fmt.Sprint(got.status)}
	for _, name := range []string{"Content-Type", "Www-Authenticate", "Allow", "Cache-Control", "X-Content-Type-Options"} {
		line = append(line, got.header.Get(name))
	}
	line = append(line, fmt.Sprint(got.header.Get("Retry-After") != "", got.header.Get("X-Request-Id") != ""))
	var members map[string]any
	if got.status == http.StatusNoContent && got.body == "" {
		got.body = "{}"
	}
	if err := json.Unmarshal([]byte(got.body), &members); err != nil {
		t.Errorf("%s %s is answered with %q", method, path, got.body)
	}
	texts := map[string]string{}
	for name, value := range members {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	records, _ := members["data"].([]any)
	for _, record := range records {
		if record, ok := record.(map[string]any); ok {
			leaveOut(record)
			delete(record, "status") // some of them are still being delivered
			delete(record, "updated_at")
			delete(record, "progress")
		}
	}
	leaveOut(members)
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical)
	encoder.SetIndent("", "  ")
	check(t, encoder.Encode(members))
	s.write(strings.Join(append(line, "\n", canonical.String()), " "))
	return texts
}

// leaveOut removes members from a record that depend on the renderer or on time and not on the contract.
func leaveOut(record map[string]any) {
	delete(record, "video")
	delete(record, "video_url")
	delete(record, "url")
	delete(record, "avatar_processing_results")
	if record["status"] == "failed" {
		record["failure_reason"] = record["failure_reason"] != nil
	}
	if record["duration_ms"] != nil {
		record["duration_ms"] = "some"
	}
}

var changing = regexp.MustCompile(strings.Join([]string{
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, // ids
	`202[1-9]-[0-9-]{5}T[0-9:.]+Z`,                                 // times with at least seconds
	`\b[0-9a-f]{32}\b`,                                             // request ids
	`whsec_[0-9A-Za-z+/=]+`,
	`cursor=[0-9A-Za-z_-]{24,}|"next_cursor": "[^"]+"`,
	`\.[0-9A-Za-z_-]{22}"`, // signatures of links to shared projects
	`http://127.0.0.1:\d+`,
}, "|"))

// Two tokens are equal or different depending on when they were made.
var tokens = regexp.MustCompile(`_token": ?"[^"]+"`)

// write replaces variable values by placeholders, so that all runs have the same transcript.
func (s *script) write(line string) {
	s.lines = append(s.lines, changing.ReplaceAllStringFunc(tokens.ReplaceAllString(line, `_token"`), func(text string) string {
		if s.names[text] == "" {
			s.names[text] = fmt.Sprintf("<%d>", len(s.names))
		}
		return s.names[text]
	}))
}

func shorten(body string) string { return body[:min(len(body), 300)] }

func (s *script) login(t *testing.T, email, password string) map[string]string {
	t.Helper()
	return s.call(t, http.MethodPost, "/users/login", `{"email":"`+email+`","password":"`+password+`"}`)
}

func (s *script) users(t *testing.T) {
	t.Helper()
	s.call(t, http.MethodPost, "/users/login", `{"email":1}`)
	s.call(t, http.MethodPost, "/users/login", `"`+strings.Repeat("x", 1<<20)+`"`)
	s.call(t, http.MethodGet, "/users/login", "")
	s.call(t, http.MethodGet, "/users", "")
	s.login(t, "ada@example.com", "guess")
	s.login(t, "nobody@example.com", adaPassword)
	pair := s.login(t, " Ada@Example.com", adaPassword)
	refresh := func(token string) map[string]string {
		return s.call(t, http.MethodPost, "/users/refresh", `{"refresh_token":"`+token+`"}`)
	}
	next := refresh(pair["refresh_token"])
	refresh(pair["refresh_token"]) // revokes the family of tokens
	refresh(next["refresh_token"])
	s.token = s.login(t, "ada@example.com", adaPassword)["access_token"]

	projects := func(headers ...string) { s.call(t, http.MethodGet, "/projects/v2", "", headers...) }
	projects("X-Workspace-Id: " + s.workspace)
	projects("X-Workspace-Id: elsewhere")
	projects("X-Workspace-Id: "+s.workspace, "Authorization: Bearer guess")
	s.asBob(t, func() { projects("X-Workspace-Id: " + s.workspace) })
}

func (s *script) asBob(t *testing.T, play func()) {
	t.Helper()
	ada := s.token
	s.token = s.login(t, "bob@example.com", bobPassword)["access_token"]
	play()
	s.token = ada
}

func (s *script) creations(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/v1/avatars/create_avatar", "/v1/lipsync/create_lipsync"} {
		post := func(body string, headers ...string) { s.call(t, http.MethodPost, path, body, headers...) }
		post(`{}`)
		post(`{"title":7}`)
		post(`{"webhook":{"enabled":true},"webhook_data":{"webhook_url":"ftp://hooks.example.com/"}}`)
		post(`{"webhook":{"enabled":true},"webhook_data":{"webhook_url":"https://10.0.0.1/"}}`)
		post(`{"webhook_data":{"webhook_url":"ftp://not-enabled.example.com/"}}`)
		key := "Idempotency-Key: key-of-" + path
		post(`{"title":"Ada","unknown":1,"base_video_url":"https://media.example.com/a.mp4"}`, key)
		post(`{"base_video_url":"https://media.example.com/a.mp4","unknown":1,"title":"Ada"}`, key)
		post(`{"title":"Bob"}`, key)
		post(`{}`, "Idempotency-Key: key-of-/v1/avatars/create_avatar")
		s.asBob(t, func() { post(`{"title":"Bob"}`, key) })
	}
}

const (
	avatarDetails  = "/v1/avatars/avatar_details?avatar_id="
	videoDetails   = "/v1/avatars/inference_details?inference_id="
	lipsyncDetails = "/v1/lipsync/inference_details?inference_id="
)

func (s *script) avatars(t *testing.T) {
	t.Helper()
	for _, test := range []struct {
		title, decision, want string
		events                int
	}{
		{"Ada", "true", "published", 3}, {"Ada", "false", "consent_failed", 3}, {"Ada [fail]", "", "failed", 2},
	} {
		id := s.call(t, http.MethodPost, "/v1/avatars/create_avatar", s.registered(test.title))["avatar_id"]
		consent := func(granted string) {
			s.call(t, http.MethodPost, "/v1/avatars/submit_consent", `{"avatar_id":"`+id+`","granted":`+granted+`}`)
		}
		newVideo := func(title string) string {
			return s.call(t, http.MethodPost, "/v1/avatars/create_video", `{"avatar_id":"`+id+`","title":"`+title+`","text":"Hello."}`)["inference_id"]
		}
		newVideo("too early")
		if test.decision == "" {
			s.settle(t, s, avatarDetails, id, test.want)
		} else {
			s.settle(t, s, avatarDetails, id, "consent_pending")
			s.asBob(t, func() { consent("true") })
			consent(test.decision)
		}
		s.call(t, http.MethodGet, avatarDetails+id, "")
		s.call(t, http.MethodGet, videoDetails+id, "")
		consent("true")
		s.notified(t, id, test.events)
		if test.want == "published" {
			for _, speech := range []string{`"text":"🙂"`, `"voice":"en"`, `"language":"xx"`, `"speed":3`, `"text":"Hallo.","language":"de","speed":2`} {
				s.call(t, http.MethodPost, "/v1/avatars/create_video", `{"avatar_id":"`+id+`",`+speech+`}`)
			}
			for _, ending := range endings {
				video := newVideo(ending.title)
				s.settle(t, s, videoDetails, video, ending.status)
				s.call(t, http.MethodGet, videoDetails+video, "")
				s.notified(t, video, 1)
			}
		}
	}
}

// endings has the final statuses of videos and lip-syncs.
var endings = []struct{ title, status string }{{"Hello", "succeeded"}, {"Hello [fail]", "failed"}}

func (s *script) lipsyncs(t *testing.T) {
	t.Helper()
	for _, ending := range endings {
		id := s.call(t, http.MethodPost, "/v1/lipsync/create_lipsync", s.registered(ending.title))["inference_id"]
		s.settle(t, s, lipsyncDetails, id, ending.status)
		s.call(t, http.MethodGet, lipsyncDetails+id, "")
		s.asBob(t, func() { s.call(t, http.MethodGet, lipsyncDetails+id, "") })
		s.notified(t, id, 1)
		update := func(change string) {
			s.call(t, http.MethodPost, "/v1/projects/update", `{"project_id":"`+id+`"`+change+`}`)
		}
		update(`,"title":"Renamed","tags":{"names":["new"]},"shared":true`)
		update(`,"shared":false`)
		update(`,"custom_thumbnail":"unknown"`)
		s.asBob(t, func() { update(`,"title":"Mine"`) })
		s.call(t, http.MethodGet, lipsyncDetails+id, "")
	}
	s.call(t, http.MethodGet, "/v1/voices", "")
	s.call(t, http.MethodGet, "/v1/voices?language=en-AU", "")
	s.call(t, http.MethodPost, "/v1/lipsync/create_lipsync", `{}`, "X-Workspace-Id: "+s.workspace)
	s.call(t, http.MethodPost, "/v1/lipsync/create_lipsync", `{}`, "X-Workspace-Id: elsewhere")
	s.call(t, http.MethodPost, "/v1/media", "content", "Content-Type: audio/wav")
	s.call(t, http.MethodPost, "/v1/media", "content", "Content-Type: text/plain")
}

func (s *script) lists(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/v1/avatars/list", "/v1/avatars/list_inferences", "/v1/lipsync/list"} {
		s.call(t, http.MethodGet, path+"?limit=0", "")
		s.call(t, http.MethodGet, path+"?cursor=guess", "")
		s.call(t, http.MethodGet, path+"?status=failed&limit=2", "")
		next := s.call(t, http.MethodGet, path+"?limit=2", "")["next_cursor"]
		s.asBob(t, func() { s.call(t, http.MethodGet, path+"?cursor="+next, "") })
		for pages := 0; next != "" && pages < 20; pages++ {
			next = s.call(t, http.MethodGet, path+"?limit=2&cursor="+next, "")["next_cursor"]
		}
	}
}

func (s *script) deletions(t *testing.T) {
	t.Helper()
	const create = "/v1/avatars/create_avatar"
	avatar := s.call(t, http.MethodPost, create, `{}`, "Idempotency-Key: doomed")["avatar_id"]
	s.settle(t, s, avatarDetails, avatar, "consent_pending")
	s.call(t, http.MethodPost, "/v1/avatars/submit_consent", `{"avatar_id":"`+avatar+`","granted":true}`)
	video := s.call(t, http.MethodPost, "/v1/avatars/create_video", `{"avatar_id":"`+avatar+`"}`)["inference_id"]
	lipsync := s.call(t, http.MethodPost, "/v1/lipsync/create_lipsync", `{}`)["inference_id"]
	for _, doomed := range []struct{ path, member, id, details string }{
		{"/v1/lipsync/delete_lipsync", "inference_id", lipsync, lipsyncDetails},
		{"/v1/avatars/delete_avatar", "avatar_id", avatar, avatarDetails},
		{"/v1/avatars/delete_video", "inference_id", video, videoDetails}, // deleted together with its avatar
	} {
		remove := func(id string) { s.call(t, http.MethodPost, doomed.path, `{"`+doomed.member+`":"`+id+`"}`) }
		remove("unknown")
		s.asBob(t, func() { remove(doomed.id) })
		remove(doomed.id)
		remove(doomed.id)
		s.call(t, http.MethodGet, doomed.details+doomed.id, "")
	}
	s.call(t, http.MethodPost, create, `{}`, "Idempotency-Key: doomed")
}

func (s *script) webhooks(t *testing.T) {
	t.Helper()
	const secret, rotate = "/v1/webhooks/secret", "/v1/webhooks/rotate_secret"
	s.call(t, http.MethodGet, secret, "")
	s.call(t, http.MethodPost, rotate, "")
	s.call(t, http.MethodGet, secret, "")
	s.asBob(t, func() {
		for range 11 {
			s.call(t, http.MethodPost, rotate, "")
		}
	})
	for _, url := range []string{"https://10.0.0.1/", "http://127.0.0.1:1/"} {
		s.call(t, http.MethodPost, "/v1/webhooks/test", `{"webhook_url":"`+url+`","event_type":"avatar_event"}`)
	}
	for range 11 {
		s.call(t, http.MethodPost, "/v1/webhooks/test", `{"webhook_url":"`+s.inbox+`","event_type":"lipsync_inference_event"}`)
	}
}

func (s *script) lockout(t *testing.T) {
	t.Helper()
	for range 11 {
		s.login(t, "carol@example.com", "guess")
	}
	for range 9 {
		s.login(t, "ada@example.com", "guess")
	}
	s.login(t, "ada@example.com", adaPassword) // resets the count of failed logins
	s.login(t, "ada@example.com", "guess")
}

func (s *script) registered(title string) string {
	return `{"title":"` + title + `","webhook_data":{"webhook_url":"` + s.inbox + `"},"webhook":{"enabled":true}}`
}

// notified writes the notifications of a subject once n of them have arrived.
func (s *script) notified(t *testing.T, id string, n int) {
	t.Helper()
	if s.deliver != nil {
		s.deliver()
	}
	var about []string
	harness.Eventually(t, fmt.Sprintf("%d notifications", n), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		about = nil
		for _, line := range s.came {
			if strings.Contains(line, id) {
				about = append(about, line)
			}
		}
		return len(about) >= n
	})
	for _, line := range about {
		s.write(line)
	}
}
