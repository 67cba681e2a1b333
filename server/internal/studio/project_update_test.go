package studio_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// team adds a user and a workspace of which the user is a member.
func team(t *testing.T, service *studio.Service, email string) (user studio.User, workspace string) {
	t.Helper()
	user = studiotest.AddUser(t, service, email)
	added := try(service.AddWorkspace(t.Context(), "", "Team"))(t)
	check(t, service.AddMember(t.Context(), added.ID, email))
	return user, added.ID
}

// lipsync creates a lip-sync that has a video of some seconds.
func lipsync(t *testing.T, service *studio.Service, userID string, seconds float64) studio.Subject {
	t.Helper()
	created := try(service.CreateLipsync(t.Context(), studio.Creation{UserID: userID, Title: new("Hello"), Request: []byte(`{"title":"Hello"}`)}))(t)
	return try(service.Rendered(t.Context(), created.ID, studio.Rendering{Video: "out.mp4", Seconds: seconds}, nil))(t)
}

// projects returns a line about each project of a workspace, newest first.
func projects(t *testing.T, service *studio.Service, userID string, filter studio.ProjectFilter) (lines []string) {
	t.Helper()
	for cursor, more := "", true; more; more = cursor != "" {
		page := try(service.ProjectPage(t.Context(), userID, filter, cursor, 2))(t)
		for _, p := range page.Projects {
			lines = append(lines, p.ID+" "+p.Status())
		}
		cursor = page.Next
	}
	return lines
}

// A record is a project of the workspace of its creation, or of the only one of its user.
func TestCreate_makesAProjectOfTheWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, films := team(t, service, "ada@example.com")
		bob, other := team(t, service, "bob@example.com")
		create := func(workspace, key string) (studio.Subject, error) {
			clock.Add(time.Second)
			return service.CreateAvatar(t.Context(), studio.Creation{UserID: ada.ID, WorkspaceID: workspace, Request: []byte("{}"), IdempotencyKey: key})
		}
		only := try(create("", ""))(t)
		check(t, service.AddMember(t.Context(), other, ada.Email))
		none := try(create("", "key"))(t)
		named := try(create(other, ""))(t)
		_, err := create(other, "key")
		wantError(t, err, studio.ErrKeyReused) // of another workspace
		for _, stranger := range []string{"elsewhere", films} {
			_, err = service.CreateLipsync(t.Context(), studio.Creation{UserID: bob.ID, WorkspaceID: stranger, Request: []byte("{}")})
			wantError(t, err, studio.ErrForbidden)
		}
		if again, err := create("", "key"); again.ID != none.ID || err != nil {
			t.Errorf("repeated: %s, %v", again.ID, err)
		}
		check(t, publish(t, service, named))
		for workspace, want := range map[string][]string{films: {only.ID + " processing"}, other: {named.ID + " published"}} {
			if changes := gocmp.Diff(want, projects(t, service, ada.ID, studio.ProjectFilter{WorkspaceID: workspace})); changes != "" {
				t.Errorf("projects (-want +got):\n%s", changes)
			}
		}
		check(t, service.Delete(t.Context(), ada.ID, studio.Avatar, named.ID))
		if left := projects(t, service, bob.ID, studio.ProjectFilter{WorkspaceID: other}); left != nil {
			t.Errorf("after the deletion: %v", left)
		}
	})
}

// Imported projects and records are one list, whose pages and filters see both, also if a page ends because its
// documents are large.
func TestProjectPage_mergesRecordsAndImportedProjects(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, films := team(t, service, "ada@example.com")
		type entry struct {
			at         time.Time
			id, status string
			isNew      bool
		}
		var entries []entry
		for i := range 7 {
			made := lipsync(t, service, ada.ID, 1)
			imported := fmt.Sprint(i) // with the same time
			_, err := service.ImportProjects(t.Context(), []studio.Project{{
				ID: imported, WorkspaceID: films, UserID: ada.ID, CreatedAt: clock.Now(),
				Document: fmt.Sprintf(`{"status":"DRAFT","tags":{"names":["new"]},"recording_script":"%0100000d"}`, i),
			}})
			check(t, err)
			if i == 3 {
				try(service.UpdateProject(t.Context(), ada.ID, made.ID, studio.ProjectChange{Tags: &studio.Tags{Names: []string{"old", "new"}}}))(t)
			}
			entries = append(entries, entry{clock.Now(), made.ID, "published", i == 3}, entry{clock.Now(), imported, "DRAFT", true})
			clock.Add(time.Second)
		}
		slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(b.id, a.id)) })
		lines := func(selects func(entry) bool) (lines []string) {
			for _, e := range entries {
				if selects(e) {
					lines = append(lines, e.id+" "+e.status)
				}
			}
			return lines
		}
		for filter, want := range map[studio.ProjectFilter][]string{
			{WorkspaceID: films}:                              lines(func(entry) bool { return true }),
			{WorkspaceID: films, Status: "Published"}:         lines(func(e entry) bool { return e.status == "published" }),
			{WorkspaceID: films, Tag: "new"}:                  lines(func(e entry) bool { return e.isNew }),
			{WorkspaceID: films, Tag: "old", Status: "draft"}: nil,
		} {
			if changes := gocmp.Diff(want, projects(t, service, ada.ID, filter)); changes != "" {
				t.Errorf("%+v (-want +got):\n%s", filter, changes)
			}
		}
		list := try(service.ListProjects(t.Context(), ada.ID, studio.ProjectFilter{WorkspaceID: films}))(t)
		for _, err := range list.Pages {
			check(t, err)
		}
		if counts := list.Counts; counts != (studio.ProjectCounts{Size: 14, Unpublished: 7}) {
			t.Errorf("%+v", counts)
		}
	})
}

// A change sets what it names. The record has the title, and its creation can still be repeated.
func TestUpdateProject_changesWhatItNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, films := team(t, service, "ada@example.com")
		bob := studiotest.AddUser(t, service, "bob@example.com")
		check(t, service.AddMember(t.Context(), films, bob.Email))
		creation := studio.Creation{UserID: ada.ID, Title: new("Hello"), Request: []byte(`{"title":"Hello"}`), IdempotencyKey: "key"}
		made := try(service.CreateLipsync(t.Context(), creation))(t)
		want := try(service.Find(t.Context(), ada.ID, studio.Lipsync, made.ID))(t)
		tags := studio.Tags{Names: []string{"new"}, Colors: []string{"#2D7FF9"}}
		for _, change := range []studio.ProjectChange{{Title: new("Goodbye")}, {Tags: &tags}, {}} {
			clock.Add(time.Second)
			try(service.UpdateProject(t.Context(), ada.ID, made.ID, change))(t)
		}
		got := try(service.Find(t.Context(), ada.ID, studio.Lipsync, made.ID))(t)
		want.Title, want.Project.Tags, want.UpdatedAt = new("Goodbye"), tags, made.CreatedAt.Add(2*time.Second)
		if changes := gocmp.Diff(want, got); changes != "" {
			t.Errorf("record (-want +got):\n%s", changes)
		}
		repeated := try(service.CreateLipsync(t.Context(), creation))(t)
		if changes := gocmp.Diff(made, repeated); changes != "" {
			t.Errorf("repeated creation (-want +got):\n%s", changes)
		}
		try(service.ImportProjects(t.Context(), []studio.Project{{ID: "imported", WorkspaceID: films, UserID: ada.ID, Document: `{}`}}))(t)
		carl := studiotest.AddUser(t, service, "carl@example.com")
		for _, c := range []struct {
			userID, projectID string
			want              error
		}{
			{bob.ID, made.ID, studio.ErrNotFound},
			{ada.ID, "a", studio.ErrNotFound},
			{bob.ID, "imported", studio.ErrImported},
			{carl.ID, "imported", studio.ErrNotFound},
		} {
			_, err := service.UpdateProject(t.Context(), c.userID, c.projectID, studio.ProjectChange{Title: new("Mine")})
			wantError(t, err, c.want)
		}
		for workspace, want := range map[string]error{films: nil, "another": studio.ErrNotFound} {
			_, err := service.UpdateProject(t.Context(), ada.ID, made.ID, studio.ProjectChange{WorkspaceID: workspace})
			wantError(t, err, want)
		}
	})
}

func TestUpdateProject_renamesTheAvatarInItsVideos(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		ada, _ := team(t, service, "ada@example.com")
		avatar := try(service.CreateAvatar(t.Context(), studio.Creation{UserID: ada.ID, Title: new("Ada"), Request: []byte(`{}`)}))(t)
		check(t, publish(t, service, avatar))
		video := try(service.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: ada.ID, Request: []byte(`{}`)}))(t)
		try(service.UpdateProject(t.Context(), ada.ID, avatar.ID, studio.ProjectChange{Title: new("Grace")}))(t)
		found := try(service.Find(t.Context(), ada.ID, studio.Video, video.ID))(t)
		page := try(service.List(t.Context(), studio.SubjectFilter{UserID: ada.ID, Kind: studio.Video}, "", 1))(t)
		for _, video := range append(page.Subjects, found) {
			if title := cmp.Or(video.AvatarTitle, new("without a title")); *title != "Grace" {
				t.Errorf("the avatar of the video is %s", *title)
			}
		}
	})
}

// A custom thumbnail is a copy of an upload, and is kept until the project has another one or is deleted.
func TestUpdateProject_copiesTheThumbnail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, _ := team(t, service, "ada@example.com")
		bob, _ := team(t, service, "bob@example.com")
		made, media := lipsync(t, service, ada.ID, 1), service.Media.(*memstore.Media)
		upload := func(userID, contentType string) string {
			added, _, err := service.Upload(t.Context(), userID, contentType, strings.NewReader("a picture"))
			check(t, err)
			return added.ID
		}
		set := func(id string) (studio.Project, error) {
			return service.UpdateProject(t.Context(), ada.ID, made.ID, studio.ProjectChange{CustomThumbnail: &id})
		}
		expired := upload(ada.ID, "image/png")
		clock.Add(studio.UploadLifetime)
		for _, id := range []string{"a", expired, upload(bob.ID, "image/png"), upload(ada.ID, "video/mp4"), upload(ada.ID, "image/svg+xml")} {
			_, err := set(id)
			wantError(t, err, studio.ErrThumbnail)
		}
		results := func() []string {
			return slices.DeleteFunc(media.Keys(), func(key string) bool { return !strings.HasPrefix(key, studio.ResultFolder+"/") })
		}
		for _, id := range []string{upload(ada.ID, "image/png"), upload(ada.ID, "image/jpeg"), ""} {
			var want []string
			for range 2 {
				before := want
				if name := try(set(id))(t).Subject.Project.CustomThumbnail; name != "" {
					want = []string{studio.ResultKey(made.ID, name)}
				}
				if got := results(); !slices.Equal(got, want) || (id == "") != (want == nil) {
					t.Errorf("files %v, want %v", got, want)
				}
				if id != "" && slices.Equal(want, before) {
					t.Error("two changes share a copy, which one of them may erase")
				}
			}
			if want != nil {
				if needed := try(service.MediaNeeded(t.Context(), want[0]))(t); !needed {
					t.Error("the thumbnail is not kept")
				}
			}
		}
	})
}

// The link to a project works while it is shared, has a video and exists.
func TestSharedProject_followsTheSwitch(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada, _ := team(t, service, "ada@example.com")
		made := try(service.CreateLipsync(t.Context(), studio.Creation{UserID: ada.ID, Request: []byte("{}")}))(t)
		share := func(shared bool) string {
			clock.Add(time.Second)
			project := try(service.UpdateProject(t.Context(), ada.ID, made.ID, studio.ProjectChange{Shared: &shared}))(t)
			return strings.TrimPrefix(service.ShareURL(project.Subject), service.PublicURL+studio.SharePath)
		}
		wantShared := func(link string, want error) {
			t.Helper()
			shared, err := service.SharedProject(t.Context(), link)
			wantError(t, err, want)
			if err == nil && shared.ID != made.ID {
				t.Errorf("%s is shared", shared.ID)
			}
		}
		first := share(true)
		wantShared(first, studio.ErrNotFound) // no video yet
		try(service.Rendered(t.Context(), made.ID, studio.Rendering{Video: "out.mp4"}, nil))(t)
		wantShared(first, nil)
		if again := share(true); again != first {
			t.Errorf("the link changes from %s to %s", first, again)
		}
		for _, wrong := range []string{"", made.ID, made.ID + ".", first + "A", first[:len(first)-1], "a" + first, "\x00." + first} {
			wantShared(wrong, studio.ErrNotFound)
		}
		if off := share(false); off != "" {
			t.Errorf("the link %s of a project that is not shared", off)
		}
		wantShared(first, studio.ErrNotFound)
		second := share(true)
		wantShared(first, studio.ErrNotFound)
		wantShared(second, nil)
		check(t, service.Delete(t.Context(), ada.ID, studio.Lipsync, made.ID))
		wantShared(second, studio.ErrNotFound)

		avatar := try(service.CreateAvatar(t.Context(), studio.Creation{UserID: ada.ID, Request: []byte("{}")}))(t)
		_, err := service.UpdateProject(t.Context(), ada.ID, avatar.ID, studio.ProjectChange{Shared: new(true)})
		wantError(t, err, studio.ErrNoVideo)
	})
}

// A link ends at once while its user is disabled, and when an operator stops the sharing, which is in the audit log.
func TestSharedProject_isHiddenByOperators(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		clock := studiotest.NewClock()
		service := studio.New(studiotest.Config(db, clock.Now))
		ada, _ := team(t, service, "ada@example.com")
		operator := studiotest.AddUser(t, service, "olga@example.com")
		check(t, service.ChangeRole(t.Context(), studio.User{}, operator.Email, studio.Operator))
		made := lipsync(t, service, ada.ID, 1)
		share := func() string {
			clock.Add(time.Second)
			project := try(service.UpdateProject(t.Context(), ada.ID, made.ID, studio.ProjectChange{Shared: new(true)}))(t)
			return service.ShareURL(project.Subject)
		}
		wantShared := func(url string, want error) {
			t.Helper()
			_, err := service.SharedProject(t.Context(), strings.TrimPrefix(url, service.PublicURL+studio.SharePath))
			wantError(t, err, want)
		}
		earlier := share()
		check(t, service.SetUserEnabled(t.Context(), operator, ada.Email, false))
		wantShared(earlier, studio.ErrNotFound)
		check(t, service.SetUserEnabled(t.Context(), operator, ada.Email, true))
		wantShared(earlier, nil)
		acts := 0
		for _, shared := range []string{made.ID, earlier, " " + earlier + "/video.mp4\n", strings.TrimPrefix(earlier, service.PublicURL), strings.NewReplacer("share", "sh%61re", ".", "%2e").Replace(earlier)} {
			url := share()
			wantShared(url, nil)
			id := try(service.Unshare(t.Context(), operator, shared))(t)
			wantShared(url, studio.ErrNotFound)
			all := try(service.Acts(t.Context(), "", 100))(t)
			if acts++; id != made.ID || all[0].By != operator.Email || all[0].Action != "stopped the sharing of a video" || all[0].Target != made.ID {
				t.Errorf("%q: the act is %+v", shared, all[0])
			}
		}
		for _, shared := range []string{made.ID, "", "no link", ada.ID, "\x00", "\xff"} {
			_, err := service.Unshare(t.Context(), operator, shared)
			wantError(t, err, studio.ErrNotFound)
		}
		all := try(service.Acts(t.Context(), "", 100))(t)
		if all := slices.DeleteFunc(all, func(a studio.Act) bool { return a.Target != made.ID }); len(all) != acts {
			t.Errorf("%d acts, want %d: %+v", len(all), acts, all)
		}
	})
}

// Each video that succeeds uses its seconds, rounded up, and none gives them back.
func TestCredits_limitTheSecondsOfVideo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		service.MaxVideoSeconds = 5
		ada, films := team(t, service, "ada@example.com")
		bob := studiotest.AddUser(t, service, "bob@example.com")
		check(t, service.AddMember(t.Context(), films, bob.Email))
		lipsync(t, service, bob.ID, 2)
		check(t, service.Delete(t.Context(), ada.ID, studio.Lipsync, lipsync(t, service, ada.ID, 1.2).ID))
		made := lipsync(t, service, ada.ID, 2)
		try(service.Rendered(t.Context(), made.ID, studio.Rendering{Seconds: 9}, nil))(t) // it was rendered before
		failed := try(service.CreateLipsync(t.Context(), studio.Creation{UserID: ada.ID, Request: []byte("{}")}))(t)
		try(service.Rendered(t.Context(), failed.ID, studio.Rendering{}, &studio.RenderError{Reason: "No face."}))(t)
		list := try(service.ProjectPage(t.Context(), ada.ID, studio.ProjectFilter{WorkspaceID: films}, "", 10))(t)
		for _, project := range list.Projects {
			left, limited := service.CreditsLeft(project.VideoSeconds)
			if want := map[string]int64{ada.ID: 4, bob.ID: 2}[project.UserID]; project.VideoSeconds != want || left != 5-want || !limited {
				t.Errorf("used %d, left %d, want %d used", project.VideoSeconds, left, want)
			}
		}
		if len(list.Projects) != 3 {
			t.Errorf("%d projects", len(list.Projects))
		}
		lipsync(t, service, ada.ID, 7) // exceeds the limit
		_, err := service.CreateLipsync(t.Context(), studio.Creation{UserID: ada.ID, Request: []byte("{}")})
		wantError(t, err, studio.ErrCreditsExhausted)
		try(service.CreateAvatar(t.Context(), studio.Creation{UserID: ada.ID, Request: []byte("{}")}))(t) // has no video
	})
}
