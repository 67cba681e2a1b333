package main

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/smtptest"
)

// Mails link to the public URL, not to the host of a request. They and the log contain no query of a webhook URL.
func TestServe_sendsMails(t *testing.T) {
	t.Parallel()
	server := smtptest.Start(t, smtptest.Config{Password: "hunter2"})
	await := func(count int) smtptest.Mail {
		t.Helper()
		harness.Eventually(t, "a mail", func() bool { return len(server.Mails()) >= count })
		return server.Mails()[count-1]
	}
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	must(t, "", "user", "role", "--db="+dsn, testEmail, "operator")
	program := append([]string{"env", smtpPasswordVariable + "=hunter2"}, thisProgram(t)...)
	start := func() *process {
		return startProcessBy(t, program, dsn, "--admin-addr=127.0.0.1:0", "--renderer=simulate:0s", "--public-url=http://studio.example/",
			"--smtp=smtp://robot@"+server.Addr+"?from=robot@studio.example")
	}
	p := start()
	page := visit(t, p.URL)(http.MethodPost, "/console/users/invite", url.Values{"email": {"Bob@example.com"}})
	shown := html.UnescapeString(readAll(t, page))
	link := regexp.MustCompile(`id="link">(http://studio\.example/console/link\?key=[^<]+)<`).FindStringSubmatch(shown)
	if link == nil || !strings.Contains(shown, "A mail with this link is on its way") {
		t.Fatalf("the page shows no link: %s", shown)
	}
	if got := await(1); got.To != "TO:<bob@example.com>" || got.Name != "studio.example" || !strings.Contains(got.Text, "\n"+link[1]+"\n") || strings.Contains(got.Text, "127.0.0.1") {
		t.Errorf("a mail %s:\n%s", got.To, got.Text)
	}

	asked := make(chan struct{}, 9)
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, stream, hijacked := w.(http.Hijacker).Hijack()
		_, err := fmt.Fprintf(stream, "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n%s", r.URL)
		check(t, errors.Join(hijacked, err, stream.Flush()))
		asked <- struct{}{}
	}))
	t.Cleanup(gone.Close)
	receiver := gone.URL + "/hooks"
	try(p.client.CreateLipsync(t.Context(), lipsyncRequest("Hello", receiver+"?key=canary-query")))(t)
	<-asked
	check(t, p.Stop())
	first := p.Log()
	p = start() // which looks for alerts at once
	got := await(2)
	if got.To != "TO:<"+testEmail+">" || !strings.Contains(got.Text, "\n"+receiver+"?…\n") || !strings.Contains(got.Text, "\nhttp://studio.example/console/webhooks\n") {
		t.Errorf("a mail %s:\n%s", got.To, got.Text)
	}
	harness.Eventually(t, "a mail that counts as sent", func() bool {
		_, shown := get(t, p.AdminURL+"/metrics")
		return strings.Contains(shown, `studiod_mails_total{outcome="sent"} 1`)
	})
	for _, canary := range []string{"canary-query", "hunter2", "bob@", "robot@"} {
		if strings.Contains(first+p.Log(), canary) || strings.Contains(got.Text, canary) {
			t.Errorf("the log or a mail shows %q", canary)
		}
	}
}
