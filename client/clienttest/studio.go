package clienttest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// studio implements the operations in memory.
type studio struct {
	canonicalURL func(string) (string, error)
	fileURL      string // prefix of the URLs of finished videos

	mu         sync.Mutex
	users      map[string]*user     // by email
	tries      map[string]loginTry  // failed logins by email, whether or not the user exists
	access     map[string]access    // by access token
	refresh    map[string]*refresh  // by refresh token
	members    map[string]string    // id of the only member, by workspace
	projects   []gen.Project        // projects of the only workspace
	subjects   map[string]*subject  // by id
	keys       map[userKey]creation // by idempotency key
	cursors    map[string]position  // positions in lists, by cursor
	secrets    map[string][]secret  // by user, newest first
	tests      map[string]loginTry  // sample notifications by user
	events     []*event             // in the order of their occurrence
	autoFinish bool
}

var _ gen.StrictServerInterface = (*studio)(nil)

func newStudio(canonicalURL func(string) (string, error)) *studio {
	return &studio{
		canonicalURL: canonicalURL,
		users:        map[string]*user{},
		tries:        map[string]loginTry{},
		access:       map[string]access{},
		refresh:      map[string]*refresh{},
		members:      map[string]string{},
		subjects:     map[string]*subject{},
		keys:         map[userKey]creation{},
		cursors:      map[string]position{},
		secrets:      map[string][]secret{},
		tests:        map[string]loginTry{},
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// now returns the time truncated to microseconds, as the service returns times.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (s *studio) addWorkspace(member string) (id string) {
	id = newID()
	s.members[id] = member
	return id
}

func (s *studio) addProject(project gen.Project, owner string) {
	project.ProjectID = cmp.Or(project.ProjectID, new(newID()))
	project.UserID = cmp.Or(project.UserID, &owner)
	project.CreatedAt = cmp.Or(project.CreatedAt, new(now()))
	project.UpdatedAt = cmp.Or(project.UpdatedAt, project.CreatedAt)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.projects = append(s.projects, project)
	slices.SortStableFunc(s.projects, func(a, b gen.Project) int {
		return cmp.Or(b.CreatedAt.Compare(*a.CreatedAt), strings.Compare(*b.ProjectID, *a.ProjectID))
	})
}

func (s *studio) ListProjects(
	ctx context.Context, request gen.ListProjectsRequestObject,
) (gen.ListProjectsResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	userID := caller(ctx)
	if s.members[request.Params.WorkspaceID] != userID {
		return nil, &server.Error{Status: http.StatusForbidden, Code: "not_a_member", Detail: "You are not a member of this workspace."}
	}
	list := gen.ListProjects200JSONResponse{Data: slices.Clone(s.projects)}
	if list.Data == nil {
		list.Data = []gen.Project{}
	}
	for _, project := range list.Data {
		if *project.UserID != userID {
			continue
		}
		list.Size++
		if project.Status == nil || !strings.EqualFold(*project.Status, "published") {
			list.UnpublishedProjects++
		}
	}
	return list, nil
}

// caller returns the id of the user who makes the request.
func caller(ctx context.Context) string {
	principal, _ := server.PrincipalFrom(ctx)
	return principal.UserID
}
