//go:build libopenapi

package bench_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"

	"github.com/avatarstudio/avatarstudio/api"
)

// libopenapiVariants is for runs in full only, because it takes three minutes of CPU to compile libopenapi.
func libopenapiVariants() []variant {
	return []variant{{
		name: "libopenapi-validator", build: buildLibopenapi, checks: true, peer: "github.com/pb33f/libopenapi-validator",
		description: "synchronous, with format assertions and a separate authentication middleware, in front of the strict server",
	}}
}

func buildLibopenapi() (http.Handler, error) {
	document, err := libopenapi.NewDocument(api.Spec)
	if err != nil {
		return nil, err
	}
	check, errs := validator.NewValidator(document, config.WithFormatAssertions(), config.WithoutSecurityValidation())
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	next := strict()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/users/") { // the operations below /users are public
			if err := authenticateRequest(r); err != nil {
				http.Error(w, err.Error(), http.StatusUnauthorized)
				return
			}
		}
		if ok, problems := check.ValidateHttpRequestSync(r); !ok {
			var text strings.Builder
			for _, problem := range problems {
				fmt.Fprintln(&text, problem.Error())
			}
			http.Error(w, text.String(), http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}
