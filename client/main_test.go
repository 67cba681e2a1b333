package client_test

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// errorOf returns only the error of a call.
func errorOf[T any](_ T, err error) error { return err }

// inBubble runs a subtest whose clock is synthetic.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}
