package studio_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestListProjects_listsAllNewestFirstWithCounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, clock *studiotest.Clock) {
		ada := studiotest.AddUser(t, service, "ada@example.com")
		bob := studiotest.AddUser(t, service, "bob@example.com")
		workspace := try(service.AddWorkspace(t.Context(), "", "Team"))(t)
		check(t, service.AddMember(t.Context(), workspace.ID, ada.Email))
		check(t, service.AddMember(t.Context(), workspace.ID, ada.Email)) // idempotent

		const total = 1203 // more than two pages
		var projects []studio.Project
		for i := range total {
			owner := ada.ID
			if i%3 == 0 {
				owner = bob.ID
			}
			projects = append(projects, studio.Project{
				ID: fmt.Sprintf("project-%04d", i), WorkspaceID: workspace.ID, UserID: owner,
				CreatedAt: clock.Now().Add(time.Duration(i/2) * time.Second), // two with each time
				Published: i%2 == 0, Document: fmt.Sprintf(`{"title":"%d"}`, i),
			})
		}
		try(service.ImportProjects(t.Context(), projects))(t)

		list := try(service.ListProjects(t.Context(), ada.ID, studio.ProjectFilter{WorkspaceID: workspace.ID}))(t)
		next := total
		for page, err := range list.Pages {
			check(t, err)
			if more := next > len(page); list.More != more {
				t.Errorf("more than %d of %d projects: %v", len(page), next, list.More)
			}
			for _, project := range page {
				next--
				if want := projects[next]; project.ID != want.ID || project.Document != want.Document {
					t.Fatalf("got %s, want %s", project.ID, want.ID)
				}
			}
		}
		if next != 0 {
			t.Errorf("%d projects are missing", next)
		}
		wantCounts := func(list *studio.ProjectList) {
			t.Helper()
			if counts := list.Counts; counts.Size != 802 || counts.Unpublished != 401 {
				t.Errorf("counts are %d and %d, want 802 and 401", counts.Size, counts.Unpublished)
			}
		}
		wantCounts(list)
		list = try(service.ListProjects(t.Context(), ada.ID, studio.ProjectFilter{WorkspaceID: workspace.ID, Title: "１20"}))(t)
		var found []string
		for page, err := range list.Pages {
			check(t, err)
			for _, project := range page {
				found = append(found, project.ID)
			}
		}
		if want := []string{"project-1202", "project-1201", "project-1200", "project-1120", "project-0120"}; !slices.Equal(found, want) {
			t.Errorf("the title is in %v, want %v", found, want)
		}
		wantCounts(list)
		next = total
		for cursor, again := "", true; again; again = cursor != "" {
			page, err := service.ProjectPage(t.Context(), ada.ID, studio.ProjectFilter{WorkspaceID: workspace.ID}, cursor, 401) // the page ends between two with the same time
			check(t, err)
			for _, project := range page.Projects {
				next--
				if project.ID != projects[next].ID {
					t.Fatalf("got %s, want %s", project.ID, projects[next].ID)
				}
			}
			if cursor = page.Next; cursor != "" {
				_, err = service.List(t.Context(), studio.SubjectFilter{UserID: ada.ID, Kind: studio.Avatar}, cursor, 1)
				wantError(t, err, studio.ErrCursor)
			}
		}
		if next != 0 {
			t.Errorf("%d projects are on no page", next)
		}
		_, err := service.ProjectPage(t.Context(), bob.ID, studio.ProjectFilter{WorkspaceID: workspace.ID}, "", 1)
		wantError(t, err, studio.ErrForbidden) // not a member
		_, err = service.ListProjects(t.Context(), bob.ID, studio.ProjectFilter{WorkspaceID: workspace.ID})
		wantError(t, err, studio.ErrForbidden) // not a member
		_, err = service.ListProjects(t.Context(), ada.ID, studio.ProjectFilter{WorkspaceID: "no such workspace"})
		wantError(t, err, studio.ErrForbidden)
	})
}

func TestImportProjects_addsAllOrNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, service *studio.Service, _ *studiotest.Clock) {
		ada := studiotest.AddUser(t, service, "ada@example.com")
		workspace := try(service.AddWorkspace(t.Context(), "", "Team"))(t)
		check(t, service.AddMember(t.Context(), workspace.ID, ada.Email))
		project := func(id string) studio.Project {
			return studio.Project{ID: id, WorkspaceID: workspace.ID, UserID: ada.ID, Document: `{}`}
		}
		index, err := service.ImportProjects(t.Context(), []studio.Project{project("a"), project("b"), project("a")})
		wantError(t, err, studio.ErrExists)
		if index != 2 {
			t.Errorf("project %d is said to exist, want 2", index)
		}
		list := try(service.ListProjects(t.Context(), ada.ID, studio.ProjectFilter{WorkspaceID: workspace.ID}))(t)
		for page, err := range list.Pages {
			check(t, err)
			t.Errorf("the import failed and left %s", page[0].ID)
		}
		elsewhere := project("c")
		elsewhere.WorkspaceID = "no such workspace"
		_, err = service.ImportProjects(t.Context(), []studio.Project{elsewhere})
		wantError(t, err, studio.ErrNotFound)
	})
}

func TestIsPublished_ignoresCase(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{"published": true, "PUBLISHED": true, "unpublished": false, "": false} {
		if got := studio.IsPublished(status); got != want {
			t.Errorf("%q counts as published: %v", status, got)
		}
	}
}
