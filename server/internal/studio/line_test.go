package studio_test

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// Every name that a user or an operator gives is stored as one line, or refused.
func TestLine_namesAreOneLine(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
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
			"a workspace in the console": func(name string) (string, error) {
				id, err := service.CreateWorkspace(t.Context(), ada, name)
				if err != nil {
					return "", err
				}
				workspace, err := db.Workspace(t.Context(), id)
				return workspace.Name, err
			},
			"an API key": func(name string) (string, error) {
				key, _, err := service.AddAPIKey(t.Context(), studio.APIKey{UserID: ada.ID, Name: name})
				return key.Name, err
			},
			"a label": func(name string) (string, error) {
				stored, err := tags(studio.Tags{Names: []string{name}})
				return strings.Join(stored.Names, ""), err
			},
			"the colour of a label": func(name string) (string, error) {
				stored, err := tags(studio.Tags{Colors: []string{name}})
				return strings.Join(stored.Colors, ""), err
			},
			"the target of an act": func(name string) (string, error) {
				if err := service.RecordAct(t.Context(), ada.Email, "tried", name); err != nil {
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
				_, err := service.Invite(t.Context(), ada, name+"@invited.example.com", "", false)
				return "", err
			},
		}
		for what, give := range names {
			if stored, err := give("films"); err != nil || stored != "films" && stored != "" {
				t.Errorf("%s is stored as %q, %v", what, stored, err)
			}
			for _, part := range []string{"\n", "\r\n", "\t", "\x00", "\x1b", "\x7f", "\u0085", "\u009b", "\u2028", "\u2029", "\u202e", "\u2066"} {
				stored, err := give("ads" + part + "x")
				if err == nil && stored != "ads x" && stored != "adsx" || what == "an invitation" && err == nil {
					t.Errorf("%s with %U is stored as %q", what, []rune(part), stored)
				}
			}
		}
		for _, empty := range []string{"", " \n", "\u202e", strings.Repeat("ä", studio.MaxName+1)} {
			for want, what := range map[error]string{studio.ErrWorkspaceName: "a workspace", studio.ErrAPIKeyName: "an API key"} {
				_, err := names[what](empty)
				wantError(t, err, want)
			}
		}
	})
}
