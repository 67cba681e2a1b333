package main

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/smtptest"
)

const mailPublicURL = "http://studio.example/"

// serveWithMail starts a daemon that sends mails over a server, and returns it with a function that invites a user.
func serveWithMail(t *testing.T, server *smtptest.Server, secret *webhook.Secret) (p *process, invite func(email string) string) {
	t.Helper()
	dsn := studiotest.NewSQLite(t)
	*secret = prepareDatabase(t, dsn)
	must(t, "", "user", "role", "--db="+dsn, testEmail, "operator")
	p = startProcess(t, dsn, "--admin-addr=127.0.0.1:0", "--renderer=simulate:0s", "--public-url="+mailPublicURL, "--smtp=smtp://robot@"+server.Addr+"?from=robot@studio.example")
	open := visit(t, p.URL)
	return p, func(email string) string {
		t.Helper()
		return html.UnescapeString(readAll(t, open(http.MethodPost, "/console/users/invite", url.Values{"email": {email}})))
	}
}

// Mails link to the public URL, not to the host of a request. They and the log contain no query of a webhook URL.
func TestServe_sendsMails(t *testing.T) {
	t.Setenv(smtpPasswordVariable, "hunter2")
	server := smtptest.Start(t, smtptest.Config{Password: "hunter2"})
	await := func(count int) smtptest.Mail {
		t.Helper()
		harness.Eventually(t, "a mail", func() bool { return len(server.Mails()) >= count })
		return server.Mails()[count-1]
	}
	var secret webhook.Secret
	p, invite := serveWithMail(t, server, &secret)
	shown := invite("Bob@example.com")
	link := regexp.MustCompile(`id="link">(http://studio\.example/console/link\?key=[^<]+)<`).FindStringSubmatch(shown)
	if link == nil || !strings.Contains(shown, "A mail with this link is on its way") {
		t.Fatalf("the page shows no link: %s", shown)
	}
	if got := await(1); got.To != "TO:<bob@example.com>" || got.Name != "studio.example" || !strings.Contains(got.Text, "\n"+link[1]+"\n") || strings.Contains(got.Text, "127.0.0.1") {
		t.Errorf("a mail %s:\n%s", got.To, got.Text)
	}

	in := startInbox(t, secret, func(w http.ResponseWriter, _ string) bool {
		w.WriteHeader(http.StatusGone)
		return true
	})
	receiver, _, _ := strings.Cut(in.url, "?")
	_, err := p.client.CreateLipsync(t.Context(), lipsyncRequest("Hello", receiver+"?key=canary-query"))
	check(t, err)
	got := await(2)
	if got.To != "TO:<"+testEmail+">" || !strings.Contains(got.Text, "\n"+receiver+"?…\n") || !strings.Contains(got.Text, "\nhttp://studio.example/console/webhooks\n") {
		t.Errorf("a mail %s:\n%s", got.To, got.Text)
	}
	harness.Eventually(t, "two mails that count as sent", func() bool {
		_, shown := get(t, p.AdminURL+"/metrics")
		return strings.Contains(shown, `studiod_mails_total{outcome="sent"} 2`)
	})
	for _, canary := range []string{"canary-query", "hunter2", "bob@", "robot@"} {
		if strings.Contains(p.Log(), canary) || strings.Contains(got.Text, canary) {
			t.Errorf("the log or a mail shows %q", canary)
		}
	}
}
