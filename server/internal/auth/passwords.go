// Package auth makes and checks what proves who a caller is: password hashes (argon2id) and
// access tokens (signed JWTs).
package auth

import (
	"context"

	"github.com/alexedwards/argon2id"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Passwords hashes with argon2id. A hash takes 19 MiB and a processor while it is made; how many are
// made at once is for the caller to limit.
type Passwords struct{ parameters argon2id.Params }

var _ studio.Passwords = Passwords{}

// NewPasswords makes a Passwords.
func NewPasswords() Passwords {
	// OWASP's choice for argon2id: 19 MiB, two passes, one lane.
	return Passwords{argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}}
}

// Hash returns a salted hash that names its own parameters.
func (p Passwords) Hash(_ context.Context, password string) (hash string, err error) {
	return argon2id.CreateHash(password, &p.parameters)
}

// Compare reports in constant time whether hash was made from password.
func (p Passwords) Compare(_ context.Context, password, hash string) (same bool, err error) {
	return argon2id.ComparePasswordAndHash(password, hash)
}
