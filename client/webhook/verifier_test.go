package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// unlisted is a notification with a type that the document does not list.
const unlisted = `{"event_type":"x"}`

func TestTokenInURL(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		query  string
		tokens []string
		ok     bool
	}{
		"old":             {"?token=old", []string{"new", "old"}, true},
		"escaped":         {"?token=%73%33+%26", []string{"s3 &"}, true},
		"other":           {"?token=s3cres", []string{"s3cret"}, false},
		"other parameter": {"?Token=s3cret", []string{"s3cret"}, false},
		"twice":           {"?token=s3cret&token=s3cret", []string{"s3cret"}, false},
		"missing":         {"", []string{"s3cret"}, false},
		"empty token":     {"?token=", []string{""}, false},
		"no tokens":       {"?token=s3cret", nil, false},
		"malformed query": {"?token=%zz", []string{"%zz"}, false},
	} {
		receiver := newReceiver(t, (&recorder{}).handlers(), webhook.TokenInURL("token", test.tokens...))
		answer := serve(t, receiver, http.MethodPost, "/hook"+test.query, nil, strings.NewReader(unlisted))
		if (answer.Code == http.StatusNoContent) != test.ok || !test.ok && answer.Code != http.StatusUnauthorized {
			t.Errorf("%s: status %d", name, answer.Code)
		}
		if err := receiver.Handle(t.Context(), nil, []byte(unlisted)); !errors.Is(err, webhook.ErrRefused) || !errors.Is(err, webhook.ErrCredentials) {
			t.Errorf("%s: without a URL: error %v", name, err)
		}
	}
}

// Neither errors nor a printed Receiver show credentials.
func TestVerifier_errorsHaveNoCredentials(t *testing.T) {
	t.Parallel()
	const canary = "s3cret-canary"
	secret := webhook.NewSecret()
	notification := webhook.Notification{URL: &url.URL{Path: "/", RawQuery: "token=other-" + canary}}
	for name, verifier := range map[string]webhook.Verifier{
		"token":  webhook.TokenInURL("token", canary),
		"signed": webhook.StandardWebhooks(secret),
	} {
		receiver := newReceiver(t, (&recorder{}).handlers(), verifier)
		shown := fmt.Sprint(verifier, verifier(notification))
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			shown += fmt.Sprintf(verb, receiver)
		}
		for _, credential := range []string{canary, strings.TrimPrefix(secret.Reveal(), "whsec_")} {
			if strings.Contains(shown, credential) {
				t.Errorf("%s: %s", name, shown)
			}
		}
	}
}
