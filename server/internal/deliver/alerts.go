package deliver

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// alertInterval is how often alerts are looked for.
const alertInterval = time.Minute

// alert alerts users until stop ends.
func (d *Deliverer) alert(stop context.Context) {
	for d.Alert != nil && stop.Err() == nil {
		now := d.Now()
		alert, err := d.Store.ClaimAlert(stop, now)
		if err == nil && d.Alert(stop, alert) != nil { // which it has counted or logged
			err = d.Store.PostponeAlert(context.WithoutCancel(stop), alert, now)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, studio.ErrNotFound) {
			d.faults.Error(stop, "alert", err)
		}
		studio.Pause(stop, alertInterval)
	}
}
