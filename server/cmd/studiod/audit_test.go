package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/browsertest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A service without an operator prints a link at each start until one is used, although it has users. The link is not
// in the log.
func TestServe_printsLinkForTheFirstOperator(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	link := regexp.MustCompile(`http://\S+/console/link\?key=(\S+)`)
	start := func() (p *harness.Daemon, found []string) {
		t.Helper()
		p, printed := runPrinting(t, serveBy(thisProgram(t), dsn))
		if found = link.FindStringSubmatch(printed); found != nil && strings.Contains(p.Log(), found[1]) {
			t.Error("the log contains the link")
		}
		return p, found
	}
	must(t, testPassword+"\n", "user", "add", "--db="+dsn, "bob@example.com")
	p, earlier := start()
	check(t, p.Stop())
	p, found := start()
	if earlier == nil || found == nil {
		t.Fatal("no link is printed")
	}
	jar, err := cookiejar.New(nil)
	check(t, err)
	browser := &http.Client{Jar: jar, Timeout: harness.Timeout}
	said := ""
	use := func(key string) (status int) {
		response, err := browser.PostForm(p.URL+"/console/link", url.Values{"key": {key}, "email": {testEmail}, "password": {testPassword}})
		check(t, err)
		said = readAll(t, response)
		return response.StatusCode
	}
	if status := use(earlier[1]); status != http.StatusNotFound || !strings.Contains(said, "studiod prints another one when it starts") {
		t.Errorf("the link of an earlier start is answered %d: %s", status, said)
	}
	tab := browsertest.Open(t, p.URL)
	tab.Visit("/console/link?key="+found[1], "#email")
	tab.Inspect("first-start")
	tab.Do(chromedp.SendKeys("#email", testEmail), chromedp.SendKeys("#password", testPassword+"\r"))
	tab.Await("h1", "New avatar")
	tab.Await(".simulated", "The reason: studio-render is not beside studiod")
	tab.Inspect("first-avatar")
	photo, err := filepath.Abs("face.jpg")
	check(t, err)
	tab.Do(chromedp.SendKeys("#title", "Ada"), chromedp.SetUploadFiles("#base_video_url-file", []string{photo}))
	tab.Await("output", "Uploaded.")
	tab.Do(chromedp.Submit("form.create"))
	tab.Await(".badge", "published")
	tab.Inspect("first-published")
	tab.Visit("/console/account", "#workspace")
	tab.Await("#workspace option", "Studio")
	if status := use(found[1]); status != http.StatusNotFound {
		t.Errorf("a used link is answered %d", status)
	}
	must(t, "", "workspace", "add", "--db="+dsn, "Films")
	acts := printed[studio.Act](t, "audit", "--db="+dsn)
	if len(acts) != 3 || acts[0].By != byCommand || acts[0].Action != "workspace add" || acts[0].Target != "Films" || acts[1].Target != testEmail {
		t.Errorf("the audit log is %+v", acts)
	}
	check(t, p.Stop())
	if p, found := start(); found != nil {
		t.Error("a link is printed although there is an operator")
	} else {
		check(t, p.Stop())
	}
}
