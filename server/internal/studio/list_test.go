package studio_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// titled creates a lip-sync with each title, the first of which is the newest.
func titled(t *testing.T, service *studio.Service, clock *studiotest.Clock, userID string, titles ...string) {
	t.Helper()
	for _, title := range slices.Backward(titles) {
		try(service.CreateLipsync(t.Context(), studio.Creation{UserID: userID, Title: &title, Request: []byte(`{}`)}))(t)
		clock.Add(time.Second)
	}
}

// titles returns the titles in a list, over pages of two.
func titles(t *testing.T, service *studio.Service, filter studio.SubjectFilter) (found []string) {
	t.Helper()
	for cursor, more := "", true; more; more = cursor != "" {
		page := try(service.List(t.Context(), filter, cursor, 2))(t)
		for _, subject := range page.Subjects {
			found = append(found, *subject.Title)
		}
		cursor = page.Next
	}
	return found
}

func TestList_findsTitlesInAnyCase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, films := team(t, service, "ada@example.com")
		const decomposed, composed = "Cafe\u0301 at night", "CAFÉ in the morning"
		const otherOrder = "\u03b1\u0345\u0301" // of two marks that are stored in any order
		titled(t, service, clock, ada.ID, "Straße", "STRASSE 2", "İstanbul", "ISTANBUL", "ıstanbul", decomposed, composed, "100 % sure",
			`under_score`, `back\slash`, "Good \n\u200b morning", "ΣΊΣΥΦΟΣ", "ﬁlm", otherOrder)
		try(service.CreateLipsync(t.Context(), studio.Creation{UserID: ada.ID, Request: []byte(`{}`)}))(t) // it has no title
		for part, want := range map[string][]string{
			"strasse":                 {"Straße", "STRASSE 2"},
			"STRAẞE":                  {"Straße", "STRASSE 2"},
			"istanbul":                {"İstanbul", "ISTANBUL", "ıstanbul"},
			"İSTANBUL":                {"İstanbul", "ISTANBUL", "ıstanbul"},
			"café":                    {decomposed, composed},
			"Cafe\u0301":              {decomposed, composed},
			"cafe":                    nil,
			"%":                       {"100 % sure"},
			"_":                       {`under_score`},
			`\`:                       {`back\slash`},
			"good morning":            {"Good \n\u200b morning"},
			" morning\t":              {composed, "Good \n\u200b morning"},
			"σίσυφος":                 {"ΣΊΣΥΦΟΣ"},
			"film":                    {"ﬁlm"},
			"Ｆｉｌｍ":                    {"ﬁlm"},
			"\u1fb4":                  {otherOrder},
			"an":                      {"İstanbul", "ISTANBUL", "ıstanbul"},
			"a longer text":           nil,
			strings.Repeat("a", 4000): nil,
		} {
			filter := studio.SubjectFilter{UserID: ada.ID, Kind: studio.Lipsync, Title: part}
			if got := titles(t, service, filter); !slices.Equal(got, want) {
				t.Errorf("%q is in %q, want %q", part, got, want)
			}
			projects := projects(t, service, ada.ID, studio.ProjectFilter{WorkspaceID: films, Title: part})
			if len(projects) != len(want) {
				t.Errorf("%q is in %d projects, want %d", part, len(projects), len(want))
			}
			filter.Status = studio.Failed
			if got := titles(t, service, filter); got != nil {
				t.Errorf("%q has another status", got)
			}
		}
		for _, nothing := range []string{"", " \u200b"} {
			page, err := service.List(t.Context(), studio.SubjectFilter{UserID: ada.ID, Kind: studio.Lipsync, Title: nothing}, "", 100)
			if len(page.Subjects) != 15 || err != nil {
				t.Errorf("%q is in %d titles: %v", nothing, len(page.Subjects), err)
			}
		}
	})
}

// A page of a search reads ten pages of the store, and says where the next one continues.
func TestList_searchesAPartOfALongList(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewSQLite(t))
	clock := studiotest.NewClock()
	service := studio.New(studiotest.Config(db, clock.Now))
	ada := studiotest.AddUser(t, service, "ada@example.com")
	long := slices.Repeat([]string{strings.Repeat("a", 256<<10)}, 10) // each is a page of the store
	titled(t, service, clock, ada.ID, append(long, "Found")...)
	filter := studio.SubjectFilter{UserID: ada.ID, Kind: studio.Lipsync, Title: "found"}
	first := try(service.List(t.Context(), filter, "", 20))(t)
	if len(first.Subjects) != 0 || first.Next == "" {
		t.Fatalf("the first page has %d records and the cursor %q", len(first.Subjects), first.Next)
	}
	second := try(service.List(t.Context(), filter, first.Next, 20))(t)
	if len(second.Subjects) != 1 || second.Next != "" {
		t.Errorf("the second page has %d records and the cursor %q", len(second.Subjects), second.Next)
	}
}
