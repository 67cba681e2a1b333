package console

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// endpointsPath is the path of the page about the webhook URLs of all users.
const endpointsPath = Path + "/endpoints"

// maxTroubled bounds the endpoints with trouble that the page shows.
const maxTroubled = 100

// endpointsView is the page about the webhook URLs with trouble, or those of a user.
type endpointsView struct {
	pager

	Email     string // of the user; "" for those of all users that fail, are off or are paused
	More      bool   // whether there may be more of those
	Endpoints []endpoint
}

func (c *Console) endpoints(w http.ResponseWriter, r *http.Request, _ session) (err error) {
	query := r.URL.Query()
	v := endpointsView{Email: query.Get("email")}
	cursor := query.Get("cursor")
	var page studio.EndpointPage
	if v.Email == "" {
		page.Endpoints, err = c.cfg.Studio.TroubledEndpoints(r.Context(), maxTroubled)
		v.More = len(page.Endpoints) == maxTroubled
	} else {
		var user studio.User
		if user, err = c.cfg.Studio.UserByEmail(r.Context(), v.Email); err == nil {
			page, err = c.cfg.Studio.Endpoints(r.Context(), user.ID, cursor, pageSize)
		}
	}
	if err != nil && !errors.Is(err, studio.ErrNotFound) {
		return err
	}
	v.Endpoints, v.pager = endpointsOf(page.Endpoints), newPager(endpointsPath, filtersOf(query, "email"), cursor, page.Next)
	return c.render(w, r, http.StatusOK, "endpoints", view{Title: "Endpoints", Section: servicePath, Data: v})
}

// changeEndpointOf pauses or enables a URL of a user.
func (c *Console) changeEndpointOf(w http.ResponseWriter, r *http.Request, s session) error {
	email := r.PostFormValue("email")
	return changeEndpoint(w, r, endpointsPath, url.Values{"email": {email}}, func(id string, enabled bool) (studio.Endpoint, error) {
		return c.cfg.Studio.ChangeEndpoint(r.Context(), s.User, email, id, enabled)
	})
}
