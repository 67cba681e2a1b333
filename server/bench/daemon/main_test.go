// Package daemon measures studiod on each database. studiod, the receiver of webhooks and the database are separate
// processes on one machine. A run fails if an event is lost, out of order, wrongly signed, or, without kills,
// duplicated. It does not fail if studiod misses a target. Memory and CPU time are read from /proc; without it, they
// are 0.
package daemon_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

// gcPercent leaves most of the CPU time to the measured programs.
const gcPercent = 400

func TestMain(m *testing.M) {
	harness.RunChild(runReceiver)
	debug.SetGCPercent(gcPercent)
	_ = flag.Set("test.parallel", "8") // rows wait for much of their time; more at once starve each other
	os.Exit(m.Run())
}

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// plan is the extent of the measurements. Rates are per second.
type plan struct {
	rounds         int           // of each measurement; the report shows medians
	ports          int           // ports of the receiver; each is an origin with its own limits
	floor          time.Duration // duration of each floor
	backlog        int           // events for the throughput
	paced          int           // events at 50 per second, for latencies
	besideHung     int           // events to a healthy origin beside a hanging or flooding origin
	besideNew      int           // events to a healthy origin beside new hanging origins
	hangingOrigins int           // number of new hanging origins
	stopDuration   time.Duration // how long a daemon is stopped
	kills          int
	killed         int           // events per kill
	ordered        int           // events whose order is verified
	subjects       int           // subjects of the ordered events
	restarts       int           // kills while ordered events are delivered
	waiting        int           // events that wait for a hanging origin
	idle           time.Duration // duration of the idle measurement
	creating       time.Duration // duration of each measurement of creations

	heavyConnections int // of a user who creates very large avatars

	users            int // of the open load
	creations        int // rate
	creationDuration time.Duration
	searchStep       time.Duration // duration of each rate of a search
	maxRate          int           // at which a search ends
}

func newPlan() plan {
	if *measure.Full {
		return plan{
			rounds: 5, ports: 128, floor: 500 * time.Millisecond, backlog: 20_000, paced: 150, besideHung: 120, besideNew: 400,
			hangingOrigins: 1000, stopDuration: 40 * time.Second, kills: 6, killed: 5000, ordered: 100_000,
			subjects: 1000, restarts: 5, waiting: 100_000, idle: 20 * time.Second, creating: 2 * time.Second, heavyConnections: 300,
			users: 100, creations: 500, creationDuration: 30 * time.Second, searchStep: 5 * time.Second, maxRate: 1 << 20,
		}
	}
	return plan{
		rounds: 1, ports: 16, floor: 50 * time.Millisecond, backlog: 200, paced: 20, besideHung: 20, besideNew: 20,
		hangingOrigins: 20, stopDuration: time.Second, kills: 1, killed: 200, ordered: 200,
		subjects: 100, restarts: 1, waiting: 1000, idle: 200 * time.Millisecond, creating: 100 * time.Millisecond, heavyConnections: 20,
		users: 3, creations: 20, creationDuration: 500 * time.Millisecond,
		searchStep: 100 * time.Millisecond, maxRate: 25,
	}
}

// Every row of both reports is measured on each database.

func TestDelivery(t *testing.T) {
	p := newPlan()
	measureRows(t, "../DELIVERY.md", deliveryReport, 1, []row{
		{"throughput", ports{accepts: p.ports}, throughput, false},
		{"latency", ports{accepts: latencyPorts}, latency, false},
		{"hung receiver", ports{accepts: 1, hangs: 1}, hungReceiver, false},
		{"new origins of one user", ports{accepts: 1, hangs: p.hangingOrigins}, newOrigins(1), false},
		{"new origins of many users", ports{accepts: 1, hangs: p.hangingOrigins}, newOrigins(min(100, p.hangingOrigins)), false},
		{"floods", ports{accepts: 1}, flooded, false},
		{"stopped daemon", ports{accepts: sharedPorts}, stoppedDaemon, true},
		{"kills", ports{accepts: p.ports}, kills, false},
		{"order", ports{fails: p.ports}, order, true},
		{"hostile receivers", ports{accepts: hostilePorts, hostile: hostilePorts}, hostileResponses, true},
		{"waiting events", ports{accepts: latencyPorts, hangs: 1}, waitingEvents, false},
		{"idle", ports{accepts: 1}, idle, true},
		{"creation to receiver", ports{accepts: latencyPorts}, createdToReceived, false},
		{"large creations", ports{accepts: latencyPorts}, largeCreations, false},
	})
}

func TestLoad(t *testing.T) {
	users := newPlan().users
	measureRows(t, "../LOAD.md", loadReport, users, []row{
		{"creations", ports{accepts: users}, creationLoad, false},
	})
}
