package server_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// library serves the projects of one workspace and nothing else.
type library struct {
	server.Unimplemented // responds with 501 to the rest of the contract
}

func (library) ListProjects(ctx context.Context, request gen.ListProjectsRequestObject) (gen.ListProjectsResponseObject, error) {
	if request.Params.WorkspaceID != "films" {
		return nil, &server.Error{Status: http.StatusForbidden, Code: "not_a_member", Detail: "You are not a member of this workspace."}
	}
	caller, _ := server.PrincipalFrom(ctx)
	return gen.ListProjects200JSONResponse{Data: []gen.Project{{Title: new("Made by " + caller.UserID)}}, Size: 1}, nil
}

func Example() {
	handler, err := server.New(library{}, server.Config{
		Authenticator: server.AuthenticatorFunc(func(_ context.Context, token string) (server.Principal, error) {
			if token != "a-token" {
				return server.Principal{}, os.ErrPermission
			}
			return server.Principal{UserID: "ada"}, nil
		}),
	})
	if err != nil {
		log.Fatal(err)
	}

	for _, workspace := range []string{"films", "games"} {
		request := httptest.NewRequest(http.MethodGet, "/projects/v2", http.NoBody)
		request.Header.Set("Authorization", "Bearer a-token")
		request.Header.Set("X-Workspace-Id", workspace)
		request.Header.Set("X-Request-Id", "r-1")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		fmt.Println(answer.Code, strings.TrimSpace(answer.Body.String()))
	}
	// Output:
	// 200 {"data":[{"title":"Made by ada"}],"size":1,"unpublished_projects":0}
	// 403 {"code":"not_a_member","detail":"You are not a member of this workspace.","instance":"urn:request:r-1","request_id":"r-1","status":403,"title":"Forbidden","type":"about:blank"}
}
