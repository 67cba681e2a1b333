package standardwebhooks_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
)

func TestParseSecret_acceptsKeysOf24To64Bytes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		err  error
	}{
		"OK":             {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", nil},
		"without prefix": {"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", nil},
		"empty":          {"", standardwebhooks.ErrSecret},
		"prefix only":    {"whsec_", standardwebhooks.ErrSecret},
		"23 bytes":       {"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", standardwebhooks.ErrSecret},
		"66 bytes":       {"whsec_" + strings.Repeat("AAAA", 22), standardwebhooks.ErrSecret},
		"not base64":     {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw!", standardwebhooks.ErrSecret},
	} {
		secret, err := standardwebhooks.ParseSecret(test.text)
		if !errors.Is(err, test.err) {
			t.Fatalf("%s: error %v, want %v", name, err, test.err)
		}
		if want := "whsec_" + strings.TrimPrefix(test.text, "whsec_"); err == nil && secret.Reveal() != want {
			t.Errorf("%s: Reveal is not what was parsed", name)
		}
	}
}

func TestNewSecret_isRandomAndParseable(t *testing.T) {
	t.Parallel()
	one, other := standardwebhooks.NewSecret(), standardwebhooks.NewSecret()
	if one.Reveal() == other.Reveal() {
		t.Error("two secrets are equal")
	}
	_, err := standardwebhooks.ParseSecret(one.Reveal())
	check(t, err)
}

func TestSecret_hidesKey(t *testing.T) {
	t.Parallel()
	secret := standardwebhooks.NewSecret()
	canary := strings.TrimPrefix(secret.Reveal(), "whsec_")
	key, err := base64.StdEncoding.DecodeString(canary)
	check(t, err)
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&shown, verb, secret)
		fmt.Fprintf(&shown, verb, &secret)
		fmt.Fprintf(&shown, verb, struct{ S standardwebhooks.Secret }{secret})
		fmt.Fprintf(&shown, verb, struct{ s []standardwebhooks.Secret }{[]standardwebhooks.Secret{secret}})
	}
	check(t, json.NewEncoder(&shown).Encode(map[string]any{"secret": secret}))
	slog.New(slog.NewTextHandler(&shown, nil)).Info("text", "secret", secret)
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("json", "secret", secret, "in", struct{ S standardwebhooks.Secret }{secret})
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%x", key), strings.Trim(fmt.Sprintf("%d", key), "[]")} {
		if strings.Contains(shown.String(), form) {
			t.Errorf("the key is in %s", shown.String())
		}
	}
}
