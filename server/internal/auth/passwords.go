// Package auth hashes passwords with argon2id, and issues and verifies access tokens, which are signed JWTs.
package auth

import (
	"context"

	"github.com/alexedwards/argon2id"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Passwords hashes passwords with argon2id. Each hash needs 19 MiB of memory and one processor. The caller
// must limit the number of concurrent calls.
type Passwords struct{ parameters argon2id.Params }

var _ studio.Passwords = Passwords{}

// NewPasswords returns a Passwords.
func NewPasswords() Passwords {
	// The parameters that OWASP recommends: 19 MiB, two iterations, parallelism 1.
	return Passwords{argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}}
}

// Hash returns a salted hash that includes its parameters.
func (p Passwords) Hash(_ context.Context, password string) (hash string, err error) {
	return argon2id.CreateHash(password, &p.parameters)
}

// Compare reports whether hash is the hash of password. The comparison is in constant time.
func (p Passwords) Compare(_ context.Context, password, hash string) (same bool, err error) {
	return argon2id.ComparePasswordAndHash(password, hash)
}
