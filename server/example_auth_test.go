package server_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// account is the program's record of a caller.
type account struct {
	name   string
	scopes []string
}

// accounts maps tokens to accounts.
type accounts map[string]account

func (a accounts) Authenticate(ctx context.Context, credential server.Credential) (context.Context, server.Principal, error) {
	if credential.Kind != validate.SecurityBearer {
		return nil, server.Principal{}, errors.New("no tokens but bearer tokens are known")
	}
	account, ok := a[credential.Token]
	if !ok {
		return nil, server.Principal{}, errors.New("there is no such token")
	}
	for _, scope := range credential.Scopes {
		if !slices.Contains(account.scopes, scope) {
			return nil, server.Principal{}, &server.Error{Status: http.StatusForbidden, Code: "insufficient_scope"}
		}
	}
	return ctx, server.Principal{UserID: account.name, Value: account}, nil
}

// greeter responds with the name of the caller.
type greeter struct{ server.Unimplemented }

func (greeter) ListProjects(ctx context.Context, _ gen.ListProjectsRequestObject) (gen.ListProjectsResponseObject, error) {
	caller, _ := server.PrincipalValue[account](ctx)
	return gen.ListProjects200JSONResponse{Data: []gen.Project{{Title: new("Hello " + caller.name)}}}, nil
}

// An Authenticator sees the security scheme, the scopes and the operation, and returns a principal of any
// type. If the document only uses tokens, [server.AuthenticatorFunc] is shorter.
func ExampleAuthenticator() {
	handler, err := server.New(greeter{}, server.Config{Authenticator: accounts{"a-token": {name: "Ada"}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, token := range []string{"a-token", "another"} {
		answer := do(handler, http.MethodGet, "/projects/v2", "", "Authorization", "Bearer "+token, "X-Workspace-Id", "films")
		beginning, _, _ := strings.Cut(answer.Body.String(), ",")
		fmt.Println(answer.Code, beginning)
	}
	// Output:
	// 200 {"data":[{"title":"Hello Ada"}]
	// 401 {"code":"unauthorized"
}
