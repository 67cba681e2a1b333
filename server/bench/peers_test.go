package bench_test

import (
	"context"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	nethttpmiddleware "github.com/oapi-codegen/nethttp-middleware"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/bench/ogenapi"
)

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
