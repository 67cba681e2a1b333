package sender_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// The connections of a burst to one host stay open for the next burst.
func TestSend_keepsTheConnectionsOfABurst(t *testing.T) {
	t.Parallel()
	const burst = 256
	var arrived sync.WaitGroup // all requests of a burst are in flight at once
	server := faultserver.New(t, faultserver.Func(func(http.ResponseWriter, *http.Request) {
		arrived.Done()
		arrived.Wait()
	}))
	s := newSender(t, sender.Config{})
	for range 2 {
		var sending sync.WaitGroup
		arrived.Add(burst)
		for range burst {
			sending.Go(func() { s.Send(t.Context(), message(server.URL())) })
		}
		sending.Wait()
	}
	if n := server.Connections(); n != burst {
		t.Errorf("two bursts of %d requests open %d connections", burst, n)
	}
}
