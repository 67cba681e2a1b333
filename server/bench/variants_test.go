package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// variant is one way to serve the contract; see variantNotes.
type variant struct {
	name   string
	build  func() (http.Handler, error)
	checks bool // it authenticates and validates requests
}

const (
	bareName   = "bare"
	strictName = "strict"
	serverName = "server.New"
	nethttp    = "nethttp-middleware"
	ogenName   = "ogen"
)

func variants() []variant {
	return []variant{
		{bareName, buildBare, false},
		{strictName, buildStrict, false},
		{serverName, buildServer, true},
		{ogenName, buildOgen, true},
		{nethttp, buildNethttp, true},
	}
}

// authenticate returns the user of a token. Every variant with checks calls it.
func authenticate(token string) (userID string, err error) {
	if userID, ok := users[token]; ok {
		return userID, nil
	}
	return "", errUnknownToken
}

var (
	users           = map[string]string{goodToken: "ada", "other-token": "grace"}
	errUnknownToken = errors.New("unknown token")
)

func buildBare() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+createLipsync, func(w http.ResponseWriter, r *http.Request) {
		request := new(gen.CreateLipsyncRequest)
		if err := json.NewDecoder(r.Body).Decode(request); err != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(lipsync(request.Title.Value)) // the client may have disconnected
	})
	return mux, nil
}

// service implements the measured operation.
type service struct{ server.Unimplemented }

// CreateLipsync returns a fixed lip-sync with the title of the request.
func (service) CreateLipsync(
	_ context.Context, request gen.CreateLipsyncRequestObject,
) (gen.CreateLipsyncResponseObject, error) {
	return gen.CreateLipsync200JSONResponse(lipsync(request.Body.Title.Value)), nil
}

func buildStrict() (http.Handler, error) { return strict(), nil }

func strict() http.Handler { return gen.Handler(gen.NewStrictHandler(service{}, nil)) }

func buildServer() (http.Handler, error) {
	return server.New(service{}, server.Config{
		Authenticator: server.AuthenticatorFunc(func(_ context.Context, token string) (server.Principal, error) {
			userID, err := authenticate(token)
			return server.Principal{UserID: userID}, err
		}),
	})
}
