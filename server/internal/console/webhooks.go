package console

import (
	"net/http"
	"net/url"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const webhooksPath = Path + "/webhooks"

// webhooksView is the page about the webhook URLs and secrets of a user.
type webhooksView struct {
	pager

	Receivers []receiver
	Secrets   []studio.WebhookSecret
	Test      testForm
}

// receiver is a webhook URL.
type receiver struct {
	studio.Endpoint

	DisplayURL  string // without the query, which may contain a secret
	BreakerOpen bool
	Result      string // of the latest attempt; "" if there is none
}

// testForm is the form that sends a sample event, with the result of the last one.
type testForm struct {
	URL, Kind, Error string
	Attempt          *studio.WebhookAttempt // nil before the first
	Body             string
}

func (c *Console) webhooks(w http.ResponseWriter, r *http.Request, s session) error {
	return c.showWebhooks(w, r, s, http.StatusOK, testForm{})
}

func (c *Console) showWebhooks(w http.ResponseWriter, r *http.Request, s session, status int, test testForm) error {
	cursor := r.URL.Query().Get("cursor")
	page, err := c.cfg.Studio.Endpoints(r.Context(), s.ID, cursor, pageSize)
	if err != nil {
		return err
	}
	secrets, err := c.cfg.Studio.WebhookSecretsInForce(r.Context(), s.ID)
	if err != nil {
		return err
	}
	v := webhooksView{Secrets: secrets, Test: test, pager: newPager(webhooksPath, make(url.Values), cursor, page.Next)}
	for _, one := range page.Endpoints {
		result := ""
		if one.Last.Number > 0 {
			result = resultText(one.Last.Status, one.Last.Failure)
		}
		v.Receivers = append(v.Receivers, receiver{one, studio.WithoutQuery(one.URL), one.OpenUntil.After(time.Now()), result})
	}
	c.render(w, r, status, "webhooks", view{Title: "Webhooks", Section: webhooksPath, Data: v})
	return nil
}

// testWebhook sends a sample event.
func (c *Console) testWebhook(w http.ResponseWriter, r *http.Request, s session) error {
	test := testForm{URL: r.PostFormValue("webhook_url"), Kind: r.PostFormValue("kind")}
	attempt, err := c.cfg.Studio.TestWebhook(r.Context(), s.ID, test.URL, studio.Kind(test.Kind))
	if err != nil {
		problem := c.serverError(r, err)
		if problem.Status >= http.StatusInternalServerError {
			return err
		}
		if test.Error = problem.Detail; len(problem.Violations) > 0 {
			test.Error = problem.Violations[0].Detail
		}
		return c.showWebhooks(w, r, s, problem.Status, test)
	}
	test.Attempt, test.Body = &attempt, string(attempt.Event.Body)
	return c.showWebhooks(w, r, s, http.StatusOK, test)
}

func (c *Console) rotateSecret(w http.ResponseWriter, r *http.Request, s session) error {
	if _, err := c.cfg.Studio.RotateWebhookSecret(r.Context(), s.ID); err != nil {
		return err
	}
	http.Redirect(w, r, webhooksPath+"?done=rotated#secret", http.StatusSeeOther)
	return nil
}

// enableReceiver enables a URL that was disabled after a 410. The form identifies it by the id of a subject with
// that URL, so that the URL is not in the page.
func (c *Console) enableReceiver(w http.ResponseWriter, r *http.Request, s session) error {
	subject, err := c.cfg.Store.Subject(r.Context(), r.PostFormValue("subject"))
	if err != nil {
		return err
	}
	if subject.UserID != s.ID {
		return studio.ErrNotFound
	}
	if err := c.cfg.Store.EnableEndpoint(r.Context(), s.ID, subject.WebhookURL); err != nil {
		return err
	}
	http.Redirect(w, r, webhooksPath+"?done=enabled", http.StatusSeeOther)
	return nil
}
