package mail

import (
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Invitation returns the mail with a link of [studio.InviteLink].
func Invitation(to, link string) Message {
	return Message{to, "Invitation to Avatar Studio", fmt.Sprintf(`You are invited to Avatar Studio. Open this link within %s, and choose a password:

%s

The link works once. If you do not expect an invitation, ignore this mail.
`, studio.InviteLink.Lifetime(), link)}
}

// Reset returns the mail with a link of [studio.ResetLink].
func Reset(to, link string) Message {
	return Message{to, "Reset your password of Avatar Studio", fmt.Sprintf(`An operator of Avatar Studio lets you choose a new password. Open this link within %s:

%s

The link works once. Until then, your password stays valid. If you do not expect this, ignore this mail.
`, studio.ResetLink.Lifetime(), link)}
}

// FailingWebhook returns the mail about a webhook URL that has failed since a time. details is the URL of a page about
// it.
func FailingWebhook(to, webhookURL string, since time.Time, details string) Message {
	return Message{to, "Your webhook URL fails", fmt.Sprintf(`Avatar Studio has sent no event to this webhook URL since %s, because every attempt fails:

%s

See why, and replay the events that were given up:

%s

While it fails, you get this mail once a day at most.
`, since.UTC().Format("2 Jan 2006, 15:04 UTC"), studio.WithoutQuery(webhookURL), details)}
}

// DisabledWebhook returns the mail about a webhook URL that is disabled because it responded with 410.
func DisabledWebhook(to, webhookURL, details string) Message {
	return Message{to, "Your webhook URL is disabled", fmt.Sprintf(`Avatar Studio sends no more events to this webhook URL, because it responded with 410 Gone:

%s

Enable it again when the receiver is back, and replay the events that it missed:

%s
`, studio.WithoutQuery(webhookURL), details)}
}
