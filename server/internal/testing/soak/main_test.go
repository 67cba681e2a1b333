// Package soak tests a service under faults: daemons are killed or frozen, the database is unreachable, full or
// locked, and receivers hang and fail. The daemons are processes of studiod; see package harness. The receivers, which
// use package faultserver, check the promises about deliveries with every request; see [receivers].
//
// The flag -soak.scale multiplies the load and the number of faults. Tests wait for requests, log lines and rows,
// not for fixed times.
package soak_test

import (
	"context"
	"flag"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

var scale = flag.Int("soak.scale", 1, "factor for the number of events and faults")

func TestMain(m *testing.M) {
	// pgx waits in the background, for up to 15 seconds, for a server that does not respond to the end of a connection.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).bgRead"))
}

const daemonPackage = "github.com/avatarstudio/avatarstudio/server/cmd/studiod"

// daemonProgram builds studiod once and returns its path.
var daemonProgram = sync.OnceValues(func() (string, error) {
	return gobuild.Program(context.Background(), daemonPackage)
})

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }
