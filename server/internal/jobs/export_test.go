package jobs

import "time"

// SetSafetyNet changes how often a look is taken for nothing.
func (l *Local) SetSafetyNet(d time.Duration) { l.safetyNet, l.poll = d, d }
