package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// The example of the Standard Webhooks specification.
const (
	specSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	specID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	specTime   = 1614265330
	specBody   = `{"test": 2432232314}`
)

func mustSecret(t testing.TB, text string) webhook.Secret {
	t.Helper()
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func signed(id, timestamp, signature string) http.Header {
	header := http.Header{}
	for name, value := range map[string]string{
		webhook.HeaderID: id, webhook.HeaderTimestamp: timestamp, webhook.HeaderSignature: signature,
	} {
		if value != "" {
			header.Set(name, value)
		}
	}
	return header
}

func mustSign(t testing.TB, header http.Header, id string, at time.Time, body []byte, secrets ...webhook.Secret) {
	t.Helper()
	if err := webhook.Sign(header, id, at, body, secrets...); err != nil {
		t.Fatal(err)
	}
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
