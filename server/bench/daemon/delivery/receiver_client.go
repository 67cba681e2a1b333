package main

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// receiverClient is the connection to a receiver in its own process.
type receiverClient struct {
	*harness.Child
	urls    map[string][]string // by response mode
	encoder *gob.Encoder
	decoder *gob.Decoder
}

func startReceiver(ctx context.Context, cfg receiverConfig) (*receiverClient, error) {
	child, err := harness.StartChild(ctx)
	if err != nil {
		return nil, err
	}
	c := &receiverClient{Child: child, encoder: gob.NewEncoder(child.In), decoder: gob.NewDecoder(child.Out)}
	if err := errors.Join(c.encoder.Encode(cfg), c.decoder.Decode(&c.urls)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// query sends a query to the receiver and returns its response.
func (c *receiverClient) query(q query) (t tally, err error) {
	if err := errors.Join(c.encoder.Encode(q), c.decoder.Decode(&t)); err != nil {
		return t, fmt.Errorf("receiver: %w", err)
	}
	return t, nil
}

// waitAll waits until the receiver has accepted all events, but not longer than maxWait. It fails if an event is
// lost, out of order or wrongly signed.
func (c *receiverClient) waitAll(events int, maxWait time.Duration, arrivals bool) (tally, error) {
	t, err := c.query(query{Accepted: events, MaxWait: maxWait, Arrivals: arrivals})
	switch {
	case err != nil:
		return t, err
	case t.Wrong > 0:
		return t, fmt.Errorf("%d attempts have a wrong signature or body", t.Wrong)
	case t.Inversions > 0:
		return t, fmt.Errorf("%d attempts are out of order", t.Inversions)
	case t.Accepted != events:
		return t, fmt.Errorf("%d events of %d arrived within %v", t.Accepted, events, maxWait)
	}
	return t, nil
}

// reset resets the receiver and returns its previous counts.
func (c *receiverClient) reset() (tally, error) { return c.query(query{Reset: true}) }

// daemon is a studiod in its own process.
type daemon struct{ *harness.Daemon }
