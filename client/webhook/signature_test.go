package webhook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// unlisted is a notification with a type that the document does not list.
const unlisted = `{"event_type":"x"}`

// A Verifier keeps its secrets, and neither errors nor a printed Receiver show them.
func TestVerifier_errorsHaveNoCredentials(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	secrets := []webhook.Secret{secret}
	verifier := webhook.StandardWebhooks(secrets...)
	secrets[0] = webhook.NewSecret()
	check(t, verifier(signed(t, "a", nil, secret), nil))
	receiver := newReceiver(t, (&recorder{}).handlers(), verifier)
	shown := fmt.Sprint(verifier, verifier(nil, nil), verifier(signed(t, "a", nil, webhook.NewSecret()), nil))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		shown += fmt.Sprintf(verb, receiver)
	}
	if strings.Contains(shown, strings.TrimPrefix(secret.Reveal(), "whsec_")) {
		t.Error(shown)
	}
}
