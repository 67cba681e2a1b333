package console

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// UploadsPath takes files, which are not held in memory.
const UploadsPath = Path + "/uploads"

// choices is how many avatars the form of a video offers.
const choices = 100

// createView is the form that creates a subject.
type createView struct {
	Kind    kind
	Values  url.Values
	Problem string              // of the whole form
	Errors  map[string][]string // of the API, by field
	Avatars []row               // published, newest first
}

// field is a field of a form, for its template.
type field struct {
	createView

	Name, Label, Hint, Accept string
}

// Field is the field with a name.
func (v createView) Field(name, label, hint, accept string) field {
	return field{v, name, label, hint, accept}
}

// Value is what was entered.
func (f field) Value() string { return f.Values.Get(f.Name) }

// Faults are what the API says of the field.
func (f field) Faults() []string { return f.Errors[f.Name] }

func (c *Console) newSubject(kind kind) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		values := url.Values{"key": {rand.Text()}, "avatar_id": {r.URL.Query().Get("avatar_id")}}
		return c.form(w, r, s, http.StatusOK, createView{Kind: kind, Values: values})
	}
}

func (c *Console) form(w http.ResponseWriter, r *http.Request, s session, status int, v createView) error {
	if v.Kind.Kind == studio.Video {
		avatars := kinds()[0]
		filter := studio.SubjectFilter{UserID: s.ID, Kind: studio.Avatar, Status: studio.Published}
		page, err := c.cfg.Studio.List(r.Context(), filter, "", choices)
		if err != nil {
			return err
		}
		for _, avatar := range page.Subjects {
			v.Avatars = append(v.Avatars, rowOf(avatars, avatar))
		}
	}
	c.render(w, r, status, "create", view{Title: "New " + v.Kind.One, Section: v.Kind.Path, Data: v})
	return nil
}

// createSubject sends a form to the API, and shows it again with what the API says is wrong.
func (c *Console) createSubject(kind kind, api http.Handler) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if err := parseForm(r); err != nil {
			return err
		}
		body, err := json.Marshal(requestFrom(r.PostForm))
		if err != nil {
			return err
		}
		request, err := c.asUser(r, s, kind.create)
		if err != nil {
			return err
		}
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		request.Header.Set("Content-Type", "application/json")
		if key := r.PostForm.Get("key"); key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		answer := &recorder{header: make(http.Header)}
		api.ServeHTTP(answer, request)
		if answer.status == http.StatusOK {
			var created map[string]any
			if err := json.Unmarshal(answer.body.Bytes(), &created); err != nil {
				return err
			}
			id, _ := created[kind.id].(string)
			http.Redirect(w, r, kind.Path+"/"+url.PathEscape(id)+"?done=created", http.StatusSeeOther)
			return nil
		}
		for _, name := range []string{"Retry-After", "Ratelimit", "Ratelimit-Policy"} {
			if text := answer.header.Get(name); text != "" {
				w.Header().Set(name, text)
			}
		}
		var problem gen.Problem
		if err := json.Unmarshal(answer.body.Bytes(), &problem); err != nil {
			return err
		}
		v := createView{Kind: kind, Values: r.PostForm, Problem: problem.Title, Errors: make(map[string][]string)}
		if problem.Detail != nil {
			v.Problem = *problem.Detail
		}
		if problem.Errors != nil {
			for _, violation := range *problem.Errors {
				name := violation.Pointer[strings.LastIndex(violation.Pointer, "/")+1:]
				v.Errors[name] = append(v.Errors[name], violation.Detail)
			}
		}
		return c.form(w, r, s, answer.status, v)
	}
}

func parseForm(r *http.Request) error {
	err := r.ParseForm()
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return &server.Error{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The form has more than %d bytes.", maxForm), Err: err}
	case err != nil:
		return &server.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	return nil
}

// requestFrom is the request that a form stands for. What is left empty is left out.
func requestFrom(form url.Values) map[string]any {
	request := make(map[string]any)
	for _, name := range []string{"title", "description", "base_video_url", "video_url", "audio_url", "text", "avatar_id", "sync_mode"} {
		if value := form.Get(name); value != "" {
			request[name] = value
		}
	}
	if form.Get("use_audio_from_video") != "" {
		request["use_audio_from_video"] = true
	}
	if address := form.Get("webhook_url"); address != "" {
		request["webhook_data"] = map[string]any{"webhook_url": address}
		request["webhook"] = map[string]any{"enabled": true}
	}
	return request
}

// upload sends a file to the API as its user would.
func (c *Console) upload(api http.Handler) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		request, err := c.asUser(r, s, "/v1/media")
		if err == nil {
			api.ServeHTTP(w, request)
		}
		return err
	}
}

// asUser makes of a request one to the API.
func (c *Console) asUser(r *http.Request, s session, path string) (*http.Request, error) {
	token, err := c.cfg.Studio.AccessToken(s.User)
	if err != nil {
		return nil, err
	}
	request := r.Clone(r.Context())
	request.URL = &url.URL{Path: path}
	request.RequestURI = path
	request.Header.Del("Cookie")
	request.Header.Set("Authorization", "Bearer "+token)
	return request, nil
}

// recorder keeps a short answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *recorder) Header() http.Header { return a.header }

func (a *recorder) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *recorder) Write(part []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(part)
}
