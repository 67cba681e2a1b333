// Package auth makes and checks what proves who a caller is: password hashes (argon2id) and
// access tokens (signed JWTs).
package auth

import (
	"context"
	"runtime"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// passwordWait is how long a hash may wait for its turn before the service counts as busy.
const passwordWait = 5 * time.Second

// Passwords hashes with argon2id. Only as many hashes run at once as there are processors, so
// that a crowd of logins costs time and not memory.
type Passwords struct {
	turns      chan struct{}
	parameters argon2id.Params
}

var _ studio.Passwords = (*Passwords)(nil)

// NewPasswords makes a Passwords.
func NewPasswords() *Passwords {
	return &Passwords{
		turns: make(chan struct{}, runtime.GOMAXPROCS(0)),
		// OWASP's choice for argon2id: 19 MiB, two passes, one lane.
		parameters: argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32},
	}
}

// Hash returns a salted hash that names its own parameters.
func (p *Passwords) Hash(ctx context.Context, password string) (hash string, err error) {
	err = p.inTurn(ctx, func() error {
		hash, err = argon2id.CreateHash(password, &p.parameters)
		return err
	})
	return hash, err
}

// Compare reports in constant time whether hash was made from password.
func (p *Passwords) Compare(ctx context.Context, password, hash string) (same bool, err error) {
	err = p.inTurn(ctx, func() error {
		same, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	return same, err
}

func (p *Passwords) inTurn(ctx context.Context, work func() error) error {
	timer := time.NewTimer(passwordWait)
	defer timer.Stop()
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
		return work()
	case <-timer.C:
		return studio.ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}
