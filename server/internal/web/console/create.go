package console

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// UploadsPath is the path for uploads. Their bodies are streamed and have the limits of the API.
const UploadsPath = Path + "/uploads"

// maxAvatarOptions bounds the avatars to choose from in the form of a video.
const maxAvatarOptions = 100

// createView is the form that creates a subject.
type createView struct {
	Kind       kind
	Values     url.Values
	Problem    string              // the error of the API about the whole form; "" for none
	Violations map[string][]string // the errors of the API about each field
	Avatars    []row               // the newest published avatars, for the form of a video
	Voices     []studio.Voice      // for a video
	Workspaces []studio.Workspace  // for a project; nil if there is no choice
	Missing    string              // see [Daemon]
}

// field is an input field of the form. Accept is for uploads only.
type field struct {
	createView

	Name, Hint, Accept string
}

// Field returns an input field, for templates.
func (v createView) Field(name, hint, accept string) field { return field{v, name, hint, accept} }

// Label returns the name of the field on the page.
func (f field) Label() string { return label(f.Name) }

// Value returns the submitted value.
func (f field) Value() string { return f.Values.Get(f.Name) }

// Errors returns the errors of the API about this field.
func (f field) Errors() []string { return f.Violations[f.Name] }

func (c *Console) newSubject(w http.ResponseWriter, r *http.Request, s session, kind kind) error {
	values := url.Values{"key": {rand.Text()}}
	for _, name := range []string{"avatar_id", "title", "text"} { // as in links to the form
		values.Set(name, r.URL.Query().Get(name))
	}
	return c.renderForm(w, r, s, http.StatusOK, createView{Kind: kind, Values: values})
}

func (c *Console) renderForm(w http.ResponseWriter, r *http.Request, s session, status int, v createView) error {
	if v.Kind.Kind == studio.Video {
		avatars := kinds()[0]
		filter := studio.SubjectFilter{UserID: s.ID, Kind: studio.Avatar, Status: studio.Published}
		page, err := c.cfg.Studio.List(r.Context(), filter, "", maxAvatarOptions)
		if err != nil {
			return err
		}
		chosen := v.Values.Get("avatar_id")
		if !slices.ContainsFunc(page.Subjects, func(avatar studio.Subject) bool { return avatar.ID == chosen }) {
			if avatar, err := c.cfg.Studio.Find(r.Context(), s.ID, studio.Avatar, chosen); err == nil && avatar.Status == studio.Published {
				page.Subjects = append(page.Subjects, avatar)
			}
		}
		if v.Voices, err = c.cfg.Studio.ListVoices(r.Context(), ""); err != nil {
			return err
		}
		for _, avatar := range page.Subjects {
			if c.cfg.NoVideo(avatar) == "" {
				v.Avatars = append(v.Avatars, c.newRow(avatars, avatar))
			}
		}
	}
	v.Missing = c.cfg.Daemon.Missing
	workspaces, err := c.cfg.Studio.Workspaces(r.Context(), s.ID)
	if err != nil {
		return err
	}
	if len(workspaces) > 1 { // the API chooses the only one
		v.Workspaces = workspaces
	}
	return c.render(w, r, status, "create", view{Title: "New " + v.Kind.Singular, Section: v.Kind.Path, Data: v})
}

// createSubject sends the form to the API. If the API rejects it, the form is shown again with the errors.
func (c *Console) createSubject(kind kind, api http.Handler) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if !slices.ContainsFunc(kind.needed, func(name string) bool { return r.PostForm.Get(name) != "" }) && len(kind.needed) > 0 {
			return c.renderForm(w, r, s, http.StatusUnprocessableEntity, createView{
				Kind: kind, Values: r.PostForm, Violations: map[string][]string{kind.needed[0]: {kind.neededText}},
			})
		}
		request, err := c.apiRequest(r, s, kind.createPath)
		if err != nil {
			return err
		}
		if key := r.PostForm.Get("key"); key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		if workspace := r.PostForm.Get("workspace_id"); workspace != "" {
			request.Header.Set("X-Workspace-Id", workspace)
		}
		text, err := sendJSON(api, request, apiBody(r.PostForm))
		if refused, ok := errors.AsType[*server.Error](err); ok {
			maps.Copy(w.Header(), refused.Header)
			return c.renderForm(w, r, s, refused.Status, refusedForm(kind, r.PostForm, refused))
		}
		var created map[string]any
		if err := cmp.Or(err, json.Unmarshal(text, &created)); err != nil {
			return err
		}
		id, _ := created[kind.idMember].(string)
		return redirect(w, r, kind.pathOf(id)+"?done=created", nil)
	}
}

// refusedForm returns a form with the errors of the API.
func refusedForm(kind kind, form url.Values, refused *server.Error) createView {
	v := createView{Kind: kind, Values: form, Problem: withLabels(refused.Detail), Violations: make(map[string][]string)}
	for _, violation := range refused.Violations {
		name := violation.Pointer[strings.LastIndex(violation.Pointer, "/")+1:]
		v.Violations[name] = append(v.Violations[name], withLabels(violation.Detail))
	}
	if len(v.Violations) > 0 && refused.Status == http.StatusBadRequest {
		v.Problem = "" // it is about requests of programs
	}
	if v.Violations["header:Idempotency-Key"] != nil { // the form was changed after the button Back
		v.Values.Set("key", rand.Text())
		v.Problem, v.Violations = "This form has already been sent, with other values. Send it again to create another "+kind.Singular+".", nil
	}
	return v
}

// parseForm reads a form, whose values must be texts that every database can store.
func parseForm(r *http.Request) error {
	err := r.ParseForm()
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return &server.Error{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The form has more than %d bytes.", maxFormBytes), Err: err}
	case err != nil:
		return &server.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	for _, values := range r.PostForm {
		if slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) || strings.ContainsRune(v, 0) }) {
			return &server.Error{Status: http.StatusBadRequest, Detail: "The form contains characters that are not allowed."}
		}
	}
	return nil
}

// apiBody returns the request body for the values of a form, without the empty ones.
func apiBody(form url.Values) map[string]any {
	request := make(map[string]any)
	for _, field := range labels {
		if value := form.Get(field.Name); value != "" && field.Name != "webhook_url" {
			request[field.Name] = value
		}
	}
	if speed, err := strconv.ParseFloat(form.Get("speed"), 64); err == nil {
		request["speed"] = speed
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

// upload forwards an upload to the API.
func (c *Console) upload(api http.Handler) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		request, err := c.apiRequest(r, s, "/v1/media")
		if err == nil {
			api.ServeHTTP(w, request)
		}
		return err
	}
}

// apiRequest returns a copy of r for an operation of the API, with an access token of the user instead of the
// session cookie.
func (c *Console) apiRequest(r *http.Request, s session, path string) (*http.Request, error) {
	token, err := c.cfg.Studio.IssueAccessToken(studio.AccessToken{UserID: s.ID, SessionID: s.id, IssuedAt: c.cfg.Studio.Now()})
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

// sendJSON sends a body to the API and returns that of the response. If the API refuses it, the error is a
// [*server.Error].
func sendJSON(api http.Handler, request *http.Request, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	request.Header.Set("Content-Type", "application/json")
	response := &recorder{header: make(http.Header)}
	api.ServeHTTP(response, request)
	if response.status == http.StatusOK {
		return response.body.Bytes(), nil
	}
	var problem gen.Problem
	if err := json.Unmarshal(response.body.Bytes(), &problem); err != nil {
		return nil, err
	}
	refused := &server.Error{
		Status: response.status, Detail: gen.Or(problem.Detail, problem.Title), Violations: gen.Or(problem.Errors, nil), Header: make(http.Header),
	}
	for _, name := range []string{"Retry-After", "Ratelimit", "Ratelimit-Policy"} {
		if text := response.header.Get(name); text != "" {
			refused.Header.Set(name, text)
		}
	}
	return nil, refused
}

// recorder is an [http.ResponseWriter] that keeps the response in memory.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(part []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(part)
}
