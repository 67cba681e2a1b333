package faultserver_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/sender/faultserver"
)

// This example has a receiver that fails twice, asks the sender to wait, and then accepts the event.
func Example() {
	server, err := faultserver.Start(faultserver.Config{
		Script: faultserver.InOrder(slices.Concat(
			slices.Repeat([]faultserver.Fault{faultserver.Status(http.StatusInternalServerError)}, 2),
			[]faultserver.Fault{faultserver.RetryAfter(http.StatusTooManyRequests, "120"), {}},
		)...),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 4 {
		response, err := client.Post(server.URL()+"/hook", "application/json", strings.NewReader(`{}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = response.Body.Close()
		fmt.Println(response.Status)
	}
	for _, request := range server.Received() {
		fmt.Println(request.Number, request.URL.Path, string(request.Body))
	}
	// Output:
	// 500 Internal Server Error
	// 500 Internal Server Error
	// 429 Too Many Requests
	// 200 OK
	// 1 /hook {}
	// 2 /hook {}
	// 3 /hook {}
	// 4 /hook {}
}

// This example has a different script for each path.
func ExampleByPath() {
	script := faultserver.ByPath(map[string]faultserver.Script{
		"/healthy": faultserver.InOrder(),
		"/hung":    faultserver.InOrder(faultserver.Hang()),
	})
	server, err := faultserver.Start(faultserver.Config{Script: script})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/healthy", "/hung"} {
		response, err := client.Post(server.URL()+path, "application/json", strings.NewReader(`{}`))
		if err != nil {
			fmt.Println(path, "times out:", os.IsTimeout(err))
			continue
		}
		_ = response.Body.Close()
		fmt.Println(path, response.StatusCode)
	}
	// Output:
	// /healthy 200
	// /hung times out: true
}
