// Package passwords hashes passwords with argon2id.
package passwords

import (
	"context"

	"github.com/alexedwards/argon2id"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Argon2id hashes passwords with argon2id. Each hash needs 19 MiB of memory and one processor. The caller
// must limit the number of concurrent calls.
type Argon2id struct{ parameters argon2id.Params }

var _ studio.Passwords = Argon2id{}

// New returns an Argon2id.
func New() Argon2id {
	// The parameters that OWASP recommends: 19 MiB, two iterations, parallelism 1.
	return Argon2id{argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}}
}

// Hash returns a salted hash that includes its parameters.
func (p Argon2id) Hash(_ context.Context, password string) (hash string, err error) {
	return argon2id.CreateHash(password, &p.parameters)
}

// Compare reports whether hash is the hash of password. The comparison is in constant time.
func (p Argon2id) Compare(_ context.Context, password, hash string) (same bool, err error) {
	return argon2id.ComparePasswordAndHash(password, hash)
}
