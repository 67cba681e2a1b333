package client_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

var check = harness.Check

// errorOf returns only the error of a call.
func errorOf[T any](_ T, err error) error { return err }
