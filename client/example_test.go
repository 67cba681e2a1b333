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

func Example() {
	baseURL, stop := startService()
	defer stop()

	// The client logs in by itself when a call first needs a token.
	studio, err := client.New(client.Config{
		BaseURL:   baseURL,
		Email:     "ada@example.com",
		Password:  "correct horse battery staple",
		Workspace: "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10",
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	projects, err := studio.ListProjects(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, project := range projects.Data {
		fmt.Println("project:", gen.Or(project.Title, "untitled")) // any member of a project may be missing
	}

	avatar, err := studio.CreateAvatar(ctx, gen.CreateAvatarRequest{
		Title:        gen.Value("Ada"),
		BaseVideoURL: gen.Value("https://media.example.com/ada.mp4"),
		WebhookData:  gen.Value(gen.WebhookData{WebhookURL: gen.Value("https://hooks.example.com/avatar-studio")}),
		Webhook:      gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
	}, client.WithIdempotencyKey("ada-1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("avatar:", avatar.AvatarID, avatar.Status)
	// Output:
	// project: Welcome to the team
	// avatar: 01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30 processing
}

func ExampleError() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "guess"})
	if err != nil {
		log.Fatal(err)
	}

	_, err = studio.GetAvatar(context.Background(), "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30")
	if errors.Is(err, client.ErrUnauthorized) {
		fmt.Println("wrong email or password")
	}
	if answer, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(answer.StatusCode, *answer.Problem.Detail)
	}
	fmt.Println(err)
	// Output:
	// wrong email or password
	// 401 The email or the password is wrong.
	// client: POST /users/login: 401 Unauthorized: The email or the password is wrong. (request r-1)
}

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
