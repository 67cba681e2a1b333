package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// Each command that takes the URL of a receiver sends it in the form of the WHATWG URL standard, itself or by the
// service.
func TestStudio_sendsURLsInTheFormOfTheStandard(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	targets := make(chan string, 8)
	app := startFake(t, func(_ http.ResponseWriter, r *http.Request) { targets <- r.RequestURI })
	forwarder := &program{transport: &http.Transport{DisableKeepAlives: true}}
	for raw, want := range harness.URLs() {
		target, err := receiverURL(app + raw)
		check(t, err)
		check(t, forwarder.post(t.Context(), target, &notification{EventID: "a"}, []webhook.Secret{s.Secret}))
		if got := <-targets; got != want {
			t.Errorf("listen forwards to %q as %q, want %q", raw, got, want)
		}
	}
	for host, want := range harness.Hosts() {
		target, err := receiverURL("http://" + host + ":8106")
		if want == "" && (err == nil || strings.Contains(err.Error(), "canary")) || want != "" && (err != nil || target.Host != want+":8106") {
			t.Errorf("%q is %v, %v, want %q", host, target, err, want)
		}
	}
	const raw, want = `/é%2F|/x/..?name=é&x={"a":"b"}`, "/%C3%A9%2F%7C/?name=%C3%A9&x={%22a%22:%22b%22}"
	for name, args := range map[string][]string{
		"webhook test": {"webhook", "test", app + raw}, "lipsync create": {"lipsync", "create", "--webhook-url", app + raw},
	} {
		p.must(t, "", args...)
		s.Deliver()
		if got := <-targets; got != want {
			t.Errorf("%s sends %q as %q, want %q", name, raw, got, want)
		}
	}
	created := p.must(t, "", "lipsync", "create", "--json", "--video-url", "https://a.example"+raw, "--audio-url", "https://b.example"+raw)
	created = strings.ReplaceAll(created, `\u0026`, "&")
	if !strings.Contains(created, `"https://a.example`+want) || !strings.Contains(created, `"https://b.example`+want) {
		t.Errorf("the service keeps %s", created)
	}
}
