package clienttest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var check = harness.Check
