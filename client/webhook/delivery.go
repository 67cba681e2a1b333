package webhook

import (
	"net/http"
	"strconv"
	"time"
)

// Delivery is what the headers of a notification say.
type Delivery struct {
	// ID is the same in every delivery of one event. Empty when absent.
	ID string

	// Sequence is the position of the event among those of its avatar, video or lip-sync; the
	// first is 1. Zero when absent. The signature does not cover it: use https, lest somebody on
	// the way makes later events look stale.
	Sequence int64

	// Timestamp is when this delivery was signed. Zero when absent.
	Timestamp time.Time
}

func newDelivery(header http.Header) Delivery {
	delivery := Delivery{ID: header.Get(HeaderID)}
	if sequence, err := strconv.ParseInt(header.Get(HeaderSequence), 10, 64); err == nil {
		delivery.Sequence = max(0, sequence)
	}
	if seconds, err := strconv.ParseInt(header.Get(HeaderTimestamp), 10, 64); err == nil {
		delivery.Timestamp = time.Unix(seconds, 0)
	}
	return delivery
}
