package main

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
)

// The projects of a workspace can be filtered. The videos of lip-syncs are shared by links.
func TestProject_listsAndShares(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	id := p.must(t, "", "lipsync", "create", "--title=Greeting")
	const draft = "01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20"
	s.AddProject(gen.Project{ProjectID: new(draft), Title: new("One"), Status: new("draft")})
	for args, want := range map[string][]string{
		"--status=Published":              {id},
		"--status=draft":                  {draft},
		"--tag=onboarding":                nil,
		"--title=EETING":                  {id},
		"--tag=onboarding --status=draft": nil,
	} {
		table := p.must(t, "", append([]string{"project", "list"}, strings.Fields(args)...)...)
		if lines := strings.Split(table, "\n"); len(lines) != 1+len(want) || len(want) == 1 && !strings.HasPrefix(lines[1], want[0]) {
			t.Errorf("%s lists %s, want %s", args, table, want)
		}
	}
	link := p.must(t, "", "project", "share", id)
	if !strings.HasPrefix(link, s.URL+"/share/"+id+".") || strings.Contains(link, "\n") {
		t.Errorf("the link is %q", link)
	}
	if project := p.must(t, "", "project", "share", "--json", id); !strings.Contains(project, `"smart_url":"`+link+`"`) {
		t.Errorf("the project is %s", project)
	}
	if out := p.must(t, "", "project", "share", "--off", id); out != "" {
		t.Errorf("the end of the sharing prints %q", out)
	}
	p.mustFail(t, exitNotFound, "404", "project", "share", "unknown")
}
