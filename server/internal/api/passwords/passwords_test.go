package passwords_test

import (
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/api/passwords"
)

func TestArgon2id_comparesHashes(t *testing.T) {
	t.Parallel()
	passwords := passwords.New()
	hash := harness.Try(passwords.Hash(t.Context(), "correct horse"))(t)
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(hash, "horse") {
		t.Errorf("hash is %s", hash)
	}
	for password, want := range map[string]bool{"correct horse": true, "correct hors": false, "": false} {
		if same, err := passwords.Compare(t.Context(), password, hash); same != want || err != nil {
			t.Errorf("%q is the password: %v, %v", password, same, err)
		}
	}
	again, err := passwords.Hash(t.Context(), "correct horse")
	if err != nil || again == hash {
		t.Error("the same password has the same hash twice")
	}
}
