package studio

import "context"

// Turns are the turns to compare passwords, one at a time.
type Turns struct{ turns }

// NewTurns makes one turn for which so many of a kind may wait.
func NewTurns(most int) *Turns { return &Turns{turns{free: 1, most: most}} }

// Take is what a login calls.
func (t *Turns) Take(ctx context.Context, address string, known bool) (done func(), err error) {
	return t.take(ctx, address, known)
}
