package console

import (
	"net/http"
	"net/url"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// WebhooksPath is the path of the page about the webhooks of a user.
const WebhooksPath = Path + "/webhooks"

// webhooksView is the page about the webhook URLs and secrets of a user.
type webhooksView struct {
	pager

	Endpoints []endpoint
	Secrets   []studio.WebhookSecret
	Test      testForm
}

// endpoint is a webhook URL.
type endpoint struct{ studio.Endpoint }

// Off reports whether nothing is sent to the URL until the user enables it.
func (e endpoint) Off() bool {
	return e.State == studio.EndpointPaused || e.State == studio.EndpointDisabled
}

// BreakerOpen reports whether nothing is sent to the URL because attempts fail.
func (e endpoint) BreakerOpen() bool { return e.OpenUntil.After(time.Now()) }

func endpointsOf(all []studio.Endpoint) (shown []endpoint) {
	for _, one := range all {
		shown = append(shown, endpoint{one})
	}
	return shown
}

// testForm is the form that sends a sample event, with the result of the last one.
type testForm struct {
	URL, Kind, Error string
	Attempt          *sender.Attempt // nil before the first
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
	v := webhooksView{pager: newPager(WebhooksPath, make(url.Values), cursor, page.Next), Endpoints: endpointsOf(page.Endpoints), Secrets: secrets, Test: test}
	return c.render(w, r, status, "webhooks", view{Title: "Webhooks", Section: WebhooksPath, Data: v})
}

// testWebhook sends a sample event.
func (c *Console) testWebhook(w http.ResponseWriter, r *http.Request, s session) error {
	test := testForm{URL: r.PostFormValue("webhook_url"), Kind: r.PostFormValue("kind")}
	attempt, sample, err := c.cfg.Studio.TestWebhook(r.Context(), s.ID, test.URL, studio.Kind(test.Kind))
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
	test.Attempt, test.Body = &attempt, string(sample.Body)
	return c.showWebhooks(w, r, s, http.StatusOK, test)
}

func (c *Console) rotateSecret(w http.ResponseWriter, r *http.Request, s session) error {
	_, err := c.cfg.Studio.RotateWebhookSecret(r.Context(), s.ID)
	return redirect(w, r, WebhooksPath+"?done=rotated", err)
}

// setEndpoint pauses or enables a URL.
func (c *Console) setEndpoint(w http.ResponseWriter, r *http.Request, s session) error {
	return changeEndpoint(w, r, WebhooksPath, make(url.Values), func(id string, enabled bool) (studio.Endpoint, error) {
		return c.cfg.Studio.SetEndpoint(r.Context(), s.ID, id, enabled)
	})
}

// changeEndpoint pauses or enables the endpoint of a form with set, and leads back to a page with a query.
func changeEndpoint(w http.ResponseWriter, r *http.Request, path string, query url.Values, set func(id string, enabled bool) (studio.Endpoint, error)) error {
	enabled := r.PostFormValue("state") == "enabled"
	if !enabled && r.PostFormValue("state") != "paused" {
		return studio.ErrNotFound
	}
	changed, err := set(r.PostFormValue("endpoint"), enabled)
	if err != nil {
		return err
	}
	done := "paused"
	switch {
	case enabled && changed.State == studio.EndpointPaused:
		done = "still-paused"
	case enabled:
		done = "enabled"
	}
	query.Set("done", done)
	return redirect(w, r, path+"?"+query.Encode(), nil)
}
