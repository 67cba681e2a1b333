package studio_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// hidden has characters that nobody sees, and of which no name needs one.
var hidden = []string{
	"\u200b", "\ufeff", "\u00ad", "\u2060", "\u2063", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u180e", "\u200e", "\u200f", "\u202e",
	"\u2065", "\u2066", "\u3164", "\uffa0", "\ufff9", "\U0001d173", "\U000e0001", "\U000e0061", "\U000e007f",
}

// shown has names with characters that change how others look. No email has them.
var shown = []string{"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "ads \U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f\u200d\U0001f525 ads", "1\ufe0f\u20e3", "\u2764\ufe0f"}

// Every name that a user or an operator gives is stored as one line, or refused.
func TestLine_namesAreOneLine(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewSQLite(t))
	service := studio.New(studiotest.Config(db, studiotest.NewClock().Now))
	ada, _ := team(t, service, "ada@example.com")
	made := lipsync(t, service, ada.ID, 1)
	tags := func(change studio.Tags) (studio.Tags, error) {
		project, err := service.UpdateProject(t.Context(), ada.ID, made.ID, studio.ProjectChange{Tags: &change})
		if err != nil {
			return studio.Tags{}, err
		}
		return project.Subject.Project.Tags, nil
	}
	names := map[string]func(name string) (stored string, err error){
		"a workspace": func(name string) (string, error) {
			workspace, err := service.AddWorkspace(t.Context(), "", name)
			return workspace.Name, err
		},
		"an API key": func(name string) (string, error) {
			key, _, err := service.AddAPIKey(t.Context(), studio.APIKey{UserID: ada.ID, Name: name})
			return key.Name, err
		},
		"a label and its colour": func(name string) (string, error) {
			stored, err := tags(studio.Tags{Names: []string{name}, Colors: []string{name}})
			if !slices.Equal(stored.Names, stored.Colors) {
				t.Errorf("a label is stored as %+v", stored)
			}
			return strings.Join(stored.Names, ""), err
		},
		"the target of an act": func(name string) (string, error) {
			if err := service.RecordAct(t.Context(), studio.User{}, "tried", name); err != nil {
				return "", err
			}
			acts, err := service.Acts(t.Context(), "", 1)
			return acts[0].Target, err
		},
		"a user": func(name string) (string, error) {
			user, err := service.AddUser(t.Context(), "", name+"@example.com", "password")
			return strings.TrimSuffix(user.Email, "@example.com"), err
		},
		"an invitation": func(name string) (string, error) {
			_, err := service.Invite(t.Context(), studio.User{}, name+"@invited.example.com", "", false)
			return "", err
		},
	}
	for what, give := range names {
		if stored, err := give("films"); err != nil || stored != "films" && stored != "" {
			t.Errorf("%s is stored as %q, %v", what, stored, err)
		}
		isEmail := what == "a user" || what == "an invitation"
		for _, part := range append(slices.Clone(hidden), "\n", "\r\n", "\t", "\x00", "\x1b", "\x7f", "\u0085", "\u009b", "\u2028", "\u2029", "\u2800") {
			stored, err := give("ads" + part + "x")
			if err == nil && stored != "ads x" && stored != "adsx" || isEmail && err == nil {
				t.Errorf("%s with %U is stored as %q, %v", what, []rune(part), stored, err)
			}
		}
		for _, name := range shown {
			if stored, err := give(name); isEmail && err == nil || !isEmail && (err != nil || stored != name) {
				t.Errorf("%s %q is stored as %q, %v", what, name, stored, err)
			}
		}
		for _, name := range []string{"\u200dads\u200c", "\u200c\u200dads\u200d", "\ufe0fads", "ads\u200d\u200b", "\U000e0061ads"} {
			if stored, err := give(name); isEmail && err == nil || !isEmail && (err != nil || stored != "ads") {
				t.Errorf("%s %q is stored as %q, %v", what, name, stored, err)
			}
		}
	}
	empty := append(slices.Clone(hidden), "", " \n", "\u2800", "\u200c", "\u200d", "\ufe0f \u200d", strings.Join(hidden, "\u200d\ufe0f"))
	for _, name := range empty {
		if line := studio.Line(name); line != "" {
			t.Errorf("%q is the line %q", name, line)
		}
	}
	for _, wrong := range append(empty, strings.Repeat("ä", studio.MaxName+1)) {
		for want, what := range map[error]string{studio.ErrWorkspaceName: "a workspace", studio.ErrAPIKeyName: "an API key"} {
			_, err := names[what](wrong)
			wantError(t, err, want)
		}
	}
}

// A text is searched as Unicode folds it, whatever the character, and a letter does not change the one before it.
func TestSearchable_foldsEveryCharacter(t *testing.T) {
	t.Parallel()
	fold, found := cases.Fold(), 0
	for r := range rune(0x1f000) { // no later character has a case
		if after := "α" + string(r); unicode.IsLetter(r) && studio.Searchable(after) != "α"+studio.Searchable(string(r)) {
			t.Errorf("%q is searched as %+q", after, studio.Searchable(after))
		}
		folded := fold.String(string(r))
		if folded == string(r) {
			continue
		}
		if found++; studio.Searchable(string(r)) != studio.Searchable(folded) {
			t.Errorf("%U is searched as %+q, and %+q as %+q", r, studio.Searchable(string(r)), folded, studio.Searchable(folded))
		}
	}
	if found < 1500 {
		t.Errorf("%d characters have another case", found)
	}
}
