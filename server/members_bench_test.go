//go:build unix

package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// manyMembers is an object of nearly 1 MiB.
func manyMembers(value string) string {
	var body strings.Builder
	for i := 0; body.Len() < 1<<20-1000; i++ {
		fmt.Fprintf(&body, `,"%d":%s`, i, value)
	}
	return "{" + body.String()[1:] + "}"
}

// keeper decodes and marshals a creation as the service does.
type keeper struct{ creator }

func (k keeper) CreateLipsync(ctx context.Context, request gen.CreateLipsyncRequestObject) (gen.CreateLipsyncResponseObject, error) {
	if _, err := request.Body.MarshalJSON(); err != nil {
		return nil, err
	}
	return k.creator.CreateLipsync(ctx, request)
}

// BenchmarkManyMembers measures a body of maximum size with as many members as possible.
func BenchmarkManyMembers(b *testing.B) {
	handler, err := server.New(keeper{}, server.Config{Authenticator: tokens})
	check(b, err)
	for name, body := range map[string]string{
		"members":           manyMembers("1"),
		"members of one":    `{"a":` + manyMembers("1") + `}`,
		"small objects":     `{"a":` + manyMembers(`{"a":1}`) + `}`,
		"elements":          `{"a":[1` + strings.Repeat(",1", 1<<19-1000) + `]}`,
		"one string":        `{"a":"` + strings.Repeat("a", 1<<20-1000) + `"}`,
		"of webhook":        `{"webhook":` + manyMembers("1") + `}`,
		"escaped":           `{"a":{"\\u0061":1,` + manyMembers("1")[1:] + `}`,
		"malformed":         `{"a":` + manyMembers("1"),
		"twice":             `{"a":` + strings.TrimSuffix(manyMembers("1"), "}") + `,"1":1}}`,
		"another operation": "",
	} {
		path := "/v1/lipsync/create_lipsync"
		if body == "" {
			path, body = "/v1/avatars/submit_consent", manyMembers("1")
		}
		b.Run(name, func(b *testing.B) {
			response := &discard{header: make(http.Header)}
			before := processorTime(b)
			for b.Loop() {
				request, err := http.NewRequest(http.MethodPost, path, io.NopCloser(bytes.NewReader([]byte(body))))
				check(b, err)
				request.ContentLength = int64(len(body))
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Authorization", "Bearer good")
				handler.ServeHTTP(response, request)
			}
			b.ReportMetric(float64(response.status), "status")
			b.ReportMetric((processorTime(b)-before).Seconds()*1000/float64(b.N), "CPU-ms/op")
		})
	}
}

// processorTime returns the CPU time of this process, which other programs affect less than wall time.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
