package bench_test

import (
	"context"
	"errors"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	nethttpmiddleware "github.com/oapi-codegen/nethttp-middleware"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/bench/ogenapi"
)

// authenticateInput is the authentication function of kin-openapi and of libraries built on it.
func authenticateInput(_ context.Context, input *openapi3filter.AuthenticationInput) error {
	return authenticateRequest(input.RequestValidationInput.Request)
}

func buildNethttp() (http.Handler, error) {
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		return nil, err
	}
	middleware := nethttpmiddleware.OapiRequestValidatorWithOptions(document, &nethttpmiddleware.Options{
		Options:              openapi3filter.Options{AuthenticationFunc: authenticateInput},
		DoNotValidateServers: true, // otherwise every request is a 404
	})
	return middleware(strict()), nil
}

// buildKin marks the document as OpenAPI 3.0.3. For this version, kin-openapi is faster but ignores const and siblings
// of $ref.
func buildKin() (http.Handler, error) {
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	if err != nil {
		return nil, err
	}
	document.OpenAPI, document.Servers = "3.0.3", nil
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		return nil, err
	}
	options := &openapi3filter.Options{AuthenticationFunc: authenticateInput}
	next := strict()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, parameters, err := router.FindRoute(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		err = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: parameters, Route: route, Options: options,
		})
		if err != nil {
			status := http.StatusBadRequest
			if unauthorized := (*openapi3filter.SecurityRequirementsError)(nil); errors.As(err, &unauthorized) {
				status = http.StatusUnauthorized
			}
			http.Error(w, err.Error(), status)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
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
