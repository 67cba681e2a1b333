package bench_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// probe is a request that the contract does not allow.
type probe struct {
	name         string
	method, path string
	header, body string
	statuses     []int // that the contract defines for the request
}

// canary is a submitted value that no response may contain.
const canary = "canary-7f3a"

func probes() []probe {
	const (
		post = http.MethodPost
		json = "Content-Type: application/json\r\n"
		auth = "Authorization: Bearer " + goodToken + "\r\n"
	)
	bad, media := []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, []int{http.StatusUnsupportedMediaType}
	denied := []int{http.StatusUnauthorized}
	return []probe{
		{"wrong type", post, createLipsync, goodHeader, `{"title":7}`, bad},
		{"wrong type, two levels down", post, createLipsync, goodHeader, `{"webhook":{"enabled":"` + canary + `"}}`, bad},
		{"format: date-time", http.MethodGet, "/v1/events?since=" + canary, auth, ``, bad},
		{"required member missing (login)", post, "/users/login", json, `{"password":"` + canary + `"}`, bad},
		{
			"member too long (create_video)", post, "/v1/avatars/create_video", goodHeader,
			`{"avatar_id":"` + canary + strings.Repeat("a", 128) + `"}`, bad,
		},
		{"body null", post, createLipsync, goodHeader, `null`, bad},
		{"no body", post, createLipsync, goodHeader, ``, bad},
		{"duplicate member", post, createLipsync, goodHeader, `{"title":"a","title":"b"}`, bad},
		{"name of a member in wrong case", post, createLipsync, goodHeader, `{"TITLE":"a"}`, bad},
		{"trailing data", post, createLipsync, goodHeader, smallBody + ` x`, bad},
		{"second value", post, createLipsync, goodHeader, smallBody + smallBody, bad},
		{"invalid UTF-8", post, createLipsync, goodHeader, "{\"title\":\"\xff\"}", bad},
		{"1,000 nested arrays", post, createLipsync, goodHeader, `{"a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`, bad},
		{"parameter too short", post, createLipsync, goodHeader + "Idempotency-Key: \r\n", smallBody, bad},
		{"parameter too long", post, createLipsync, goodHeader + "Idempotency-Key: " + canary + strings.Repeat("k", 256) + "\r\n", smallBody, bad},
		{"duplicate parameter", post, createLipsync, goodHeader + "Idempotency-Key: a\r\nIdempotency-Key: b\r\n", smallBody, bad},
		{"no Content-Type", post, createLipsync, auth, smallBody, media},
		{"text/plain", post, createLipsync, auth + "Content-Type: text/plain\r\n", smallBody, media},
		{"charset=latin1", post, createLipsync, auth + "Content-Type: application/json; charset=latin1\r\n", smallBody, media},
		{"Content-Encoding: gzip", post, createLipsync, goodHeader + "Content-Encoding: gzip\r\n", smallBody, media},
		{
			"2 MiB", post, createLipsync, goodHeader, `{"a":"` + strings.Repeat("a", 2<<20) + `"}`,
			[]int{http.StatusRequestEntityTooLarge},
		},
		{"no token", post, createLipsync, json, smallBody, denied},
		{"unknown token", post, createLipsync, json + "Authorization: Bearer nobody\r\n", smallBody, denied},
		{"wrong method", http.MethodDelete, createLipsync, goodHeader, ``, []int{http.StatusMethodNotAllowed}},
		{"wrong path", post, createLipsync + "/", goodHeader, smallBody, []int{http.StatusNotFound}},
	}
}

// probeResult is the response of a variant to a probe.
type probeResult struct {
	status   int  // 0 after a panic
	rejected bool // with a 4xx status
	exact    bool // the contract defines the status for this request
	echoed   bool // the response contains the canary
}

func (p probe) send(handler http.Handler) (v probeResult) {
	c := newCall(p.method, p.path, p.header, p.body)
	defer func() {
		if recover() != nil {
			v = probeResult{}
		}
	}()
	c.serve(handler)
	v.status = c.recorder.status
	v.rejected = v.status >= http.StatusBadRequest && v.status < http.StatusInternalServerError
	v.exact = slices.Contains(p.statuses, v.status)
	v.echoed = bytes.Contains(c.recorder.body, []byte(canary))
	return v
}

// cell formats a result for the table.
func (v probeResult) cell() string {
	text := strconv.Itoa(v.status)
	switch {
	case v.status == 0:
		return "**panic**"
	case !v.rejected:
		text = "**" + text + "**"
	case !v.exact:
		text += " ¹"
	}
	if v.echoed {
		text += " ²"
	}
	return text
}

const probeNotes = `A status is bold if the variant accepts the request or responds 5xx. ¹ The contract defines another status for the
request. ² The response contains the submitted value. Some libraries leave a check to other middleware on purpose.
`

// probeTable sends every probe to every variant that validates.
func (r *results) probeTable() string {
	var b strings.Builder
	head, line := "| Invalid request |", "|---|"
	for _, v := range r.variants {
		if v.checks {
			head, line = head+" "+v.name+" |", line+"---|"
		}
	}
	fmt.Fprintln(&b, head+"\n"+line)
	for _, p := range probes() {
		fmt.Fprintf(&b, "| %s |", p.name)
		for i, v := range r.variants {
			if v.checks {
				fmt.Fprintf(&b, " %s |", p.send(r.handlers[i]).cell())
			}
		}
		fmt.Fprintln(&b)
	}
	return b.String() + "\n" + probeNotes
}
