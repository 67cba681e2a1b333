package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// The secrets in the environment are forgotten after the start.
func TestServe_forgetsSecrets(t *testing.T) {
	for _, name := range secretVariables {
		t.Setenv(name, "")
	}
	t.Setenv(keysVariable, "c2VjcmV0IGtleSBmb3IgdGhlIHRlc3Qgb2Ygc2VydmU=")
	t.Setenv("STUDIO_DB", studiotest.NewSQLite(t))
	ctx, stop := context.WithCancel(t.Context())
	var log harness.Buffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, testPasswords, []string{"studiod", "serve", "--addr=127.0.0.1:0", "--admin-addr=off", "--renderer=simulate"}, nil, io.Discard, &log)
	}()
	harness.Eventually(t, "the start", func() bool { return strings.Contains(log.String(), `"serving"`) })
	for _, name := range secretVariables {
		if value, ok := os.LookupEnv(name); ok {
			t.Errorf("%s is %q", name, value)
		}
	}
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d\n%s", code, log.String())
	}
}
