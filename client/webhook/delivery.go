package webhook

import (
	"net/http"
	"strconv"
	"time"
)

// Delivery contains the values of the headers of a notification.
type Delivery struct {
	// ID identifies the event. It is the same in every delivery of the event, and empty if the header is
	// absent.
	ID string

	// Sequence is the position of the event among the events of the same avatar, video or lip-sync. The
	// first is 1. It is zero if the header is absent. The signature does not cover it, so use https: an
	// attacker on the network could otherwise make later events look stale.
	Sequence int64

	// Timestamp is the time when this delivery was signed, or zero if the header is absent.
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
