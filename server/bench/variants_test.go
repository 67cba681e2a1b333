package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	nethttpmiddleware "github.com/oapi-codegen/nethttp-middleware"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/bench/ogenapi"
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

func buildNethttp() (http.Handler, error) {
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		return nil, err
	}
	middleware := nethttpmiddleware.OapiRequestValidatorWithOptions(document, &nethttpmiddleware.Options{
		Options: openapi3filter.Options{AuthenticationFunc: func(_ context.Context, input *openapi3filter.AuthenticationInput) error {
			token, _ := strings.CutPrefix(input.RequestValidationInput.Request.Header.Get("Authorization"), "Bearer ")
			_, err := authenticate(token)
			return err
		}},
		DoNotValidateServers: true, // otherwise every request is a 404
	})
	return middleware(strict()), nil
}

func buildOgen() (http.Handler, error) {
	return ogenapi.NewServer(ogenService{}, ogenService{})
}

// ogenService implements the measured operation, and the authentication of all operations.
type ogenService struct{ ogenapi.Handler }

// HandleBearerAuth authenticates a token and stores the user in the context.
func (ogenService) HandleBearerAuth(
	ctx context.Context, _ ogenapi.OperationName, auth ogenapi.BearerAuth,
) (context.Context, error) {
	userID, err := authenticate(auth.Token)
	if err != nil {
		return nil, err
	}
	return context.WithValue(ctx, userKey{}, userID), nil
}

type userKey struct{}

// CreateLipsync returns a fixed lip-sync with the title of the request.
func (ogenService) CreateLipsync(
	_ context.Context, request *ogenapi.CreateLipsyncRequest, _ ogenapi.CreateLipsyncParams,
) (ogenapi.CreateLipsyncRes, error) {
	title, _ := request.Title.Get()
	created := lipsync(&title)
	return &ogenapi.Lipsync{
		InferenceID: created.InferenceID,
		Status:      ogenapi.InferenceState(created.Status),
		Title:       ogenapi.NewOptNilString(title),
		CreatedAt:   ogenapi.NewOptNilDateTime(*created.CreatedAt),
		UpdatedAt:   ogenapi.NewOptNilDateTime(*created.UpdatedAt),
	}, nil
}
