package main

import (
	"strings"
	"testing"
)

// The records of a member are projects of the workspace. Their videos are shared by links.
func TestProject_listsAndShares(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := s.loggedIn(t)
	id := p.must(t, "", "lipsync", "create", "--title", "Greeting", "--watch")
	id = strings.Fields(id[strings.LastIndex(id, "\n")+1:])[0]
	for args, want := range map[string]string{
		"":                                "[" + id + " 01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20 01936f3e-7d00-7c4d-8e55-3a7a2b1c0d21]",
		"--status=Published":              "[" + id + "]",
		"--status=draft":                  "[01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20]",
		"--tag=onboarding":                "[]",
		"--title=EETING":                  "[" + id + "]",
		"--title=one --status=draft":      "[01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20]",
		"--tag=onboarding --status=draft": "[]",
	} {
		lines := strings.Split(p.must(t, "", append([]string{"project", "list"}, strings.Fields(args)...)...), "\n")
		var ids []string
		for _, line := range lines[1:] {
			ids = append(ids, strings.Fields(line)[0])
		}
		if got := "[" + strings.Join(ids, " ") + "]"; got != want {
			t.Errorf("%s lists %s, want %s", args, got, want)
		}
	}
	link := p.must(t, "", "project", "share", id)
	if !strings.HasPrefix(link, s.url+"/share/"+id+".") || strings.Contains(link, "\n") {
		t.Errorf("the link is %q", link)
	}
	if project := p.must(t, "", "project", "share", "--json", id); !strings.Contains(project, `"smart_url":"`+link+`"`) {
		t.Errorf("the project is %s", project)
	}
	if out := p.must(t, "", "project", "share", "--off", id); out != "" {
		t.Errorf("the end of the sharing prints %q", out)
	}
	if again := p.must(t, "", "project", "share", id); again == link {
		t.Error("the link works again")
	}
	p.mustFail(t, exitNotFound, "404", "project", "share", "unknown")
	p.mustFail(t, exitFailure, "409", "project", "share", "01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20") // imported
}
