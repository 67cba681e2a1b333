package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// signed returns the headers of a notification that is signed now.
func signed(t testing.TB, id string, body []byte, secret webhook.Secret) http.Header {
	t.Helper()
	header := http.Header{}
	if err := webhook.Sign(header, id, time.Now(), body, secret); err != nil {
		t.Fatal(err)
	}
	return header
}

func TestReceiver_hidesItsSecrets(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	receiver := newReceiver(t, (&recorder{}).handlers(), webhook.StandardWebhooks(secret))
	key := strings.TrimPrefix(secret.Reveal(), "whsec_")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if shown := fmt.Sprintf(verb, receiver); strings.Contains(shown, key) {
			t.Errorf("%s shows the key of a secret", verb)
		}
	}
}
