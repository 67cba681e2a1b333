package keyring_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
)

var check = harness.Check

func TestKeyring_opensValuesInTheirPlaceOnly(t *testing.T) {
	t.Parallel()
	keys, others := keyring.New(), keyring.New()
	sealed := keys.Seal("a secret", "row 1")
	if strings.Contains(sealed, "secret") || sealed == keys.Seal("a secret", "row 1") || !strings.HasPrefix(sealed, keys.Current()) {
		t.Errorf("sealed is %s", sealed)
	}
	if value, err := keys.Open(sealed, "row 1"); value != "a secret" || err != nil {
		t.Errorf("opened is %q, %v", value, err)
	}
	if value, err := keys.Open("in clear", "row 1"); value != "in clear" || err != nil {
		t.Errorf("what is not sealed is %q, %v", value, err)
	}
	for name, test := range map[string]struct {
		keys  *keyring.Keyring
		text  string
		place string
		want  error
	}{
		"another row":      {keys, sealed, "row 2", keyring.ErrChanged},
		"another key":      {others, sealed, "row 1", keyring.ErrNoKey},
		"no key":           {nil, sealed, "row 1", keyring.ErrNoKey},
		"a changed value":  {keys, sealed[:len(sealed)-8] + "AAAAAAA=", "row 1", keyring.ErrChanged},
		"a shortened one":  {keys, keys.Current(), "row 1", keyring.ErrChanged},
		"one without base": {keys, sealed + "!", "row 1", keyring.ErrChanged},
	} {
		if value, err := test.keys.Open(test.text, test.place); !errors.Is(err, test.want) || value != "" {
			t.Errorf("%s: %q, %v", name, value, err)
		}
	}
}

func TestKeyring_rotatesTheKeysOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "studio.keys")
	first := keyring.New()
	check(t, first.Create(path))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if err := keyring.New().Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that there is: %v", err)
	}
	other := harness.Try(keyring.Load(path))(t)
	old := first.Seal("a secret", "here")
	check(t, os.WriteFile(path+".new", nil, 0o600)) // left by an interrupted rotation
	check(t, first.Rotate())
	sealed := first.Seal("a secret", "here")
	if ids := first.IDs(); len(ids) != 2 || !strings.HasPrefix(sealed, "sealed:1:"+ids[0]+":") || !strings.HasPrefix(old, "sealed:1:"+ids[1]+":") {
		t.Errorf("the keys are %v", ids)
	}
	for _, text := range []string{old, sealed} { // the other keyring finds the new key in the file
		if value, err := other.Open(text, "here"); value != "a secret" || err != nil {
			t.Errorf("opened is %q, %v", value, err)
		}
	}
}

func TestKeyring_concurrentRotationsLoseNoKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "studio.keys")
	check(t, keyring.New().Create(path))
	const rotations = 20
	sealed := make([]string, rotations)
	var rotating sync.WaitGroup
	for i := range sealed {
		rotating.Go(func() {
			keys, err := keyring.Load(path)
			if err == nil {
				err = keys.Rotate()
			}
			if err != nil {
				t.Error(err)
				return
			}
			sealed[i] = keys.Seal("a secret", "here")
		})
	}
	rotating.Wait()
	keys := harness.Try(keyring.Load(path))(t)
	if n := len(keys.IDs()); n != 1+rotations {
		t.Errorf("the file has %d keys, want %d", n, 1+rotations)
	}
	for _, text := range sealed {
		if value, err := keys.Open(text, "here"); value != "a secret" || err != nil {
			t.Errorf("opened is %q, %v", value, err)
		}
	}
}

// What Parse accepts are lines of 32 bytes in base64, and its errors show none.
func FuzzParse(f *testing.F) {
	f.Add("# a comment\n\n" + keyring.NewKey() + "\r\n  " + keyring.NewKey())
	f.Add("# a comment\n")
	f.Add("c2l4dGVlbiBieXRlcyBpcw==")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := keyring.Parse(text)
		count, valid := 0, true
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				secret, err := base64.StdEncoding.DecodeString(line)
				count, valid = count+1, valid && err == nil && len(secret) == 32
			}
		}
		switch {
		case (err == nil) != (valid && count > 0):
			t.Errorf("%d keys: %v", count, err)
		case err != nil && len(strings.TrimSpace(text)) > 8 && strings.Contains(err.Error(), strings.TrimSpace(text)):
			t.Error("the error shows the key")
		case err == nil && len(keys.IDs()) != count:
			t.Errorf("%d keys, want %d", len(keys.IDs()), count)
		}
	})
}
