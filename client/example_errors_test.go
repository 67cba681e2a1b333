package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// The class of an error tells a program what to do.
func ExampleError_classes() {
	service := newService()
	baseURL, stop := serve(service)
	defer stop()
	studio, err := client.New(client.Config{
		BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple",
		Retry: client.Retry{Attempts: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, status := range []int{422, 404, 429, 500} {
		service.before = failing("POST /v1/avatars/create_avatar", status) // makes the service fail
		_, err := studio.CreateAvatar(context.Background(), gen.CreateAvatarRequest{})
		switch {
		case errors.Is(err, client.ErrOutcomeUnknown):
			fmt.Println("look whether it was created") // a program that uses an idempotency key need not check
		case errors.Is(err, client.ErrInvalid), errors.Is(err, client.ErrConflict):
			fmt.Println("change the request")
		case errors.Is(err, client.ErrUnauthorized), errors.Is(err, client.ErrForbidden):
			fmt.Println("ask the administrator")
		case errors.Is(err, client.ErrNotFound):
			fmt.Println("forget it")
		case errors.Is(err, client.ErrRateLimited), errors.Is(err, client.ErrServer):
			fmt.Println("try later")
		default:
			fmt.Println("no answer:", err)
		}
		if answer, ok := errors.AsType[*client.Error](err); ok {
			fmt.Println(" ", http.StatusText(answer.StatusCode), "for request", answer.RequestID)
		}
	}
	// Output:
	// change the request
	//   Unprocessable Entity for request r-1
	// forget it
	//   Not Found for request r-1
	// try later
	//   Too Many Requests for request r-1
	// look whether it was created
	//   Internal Server Error for request r-1
}
