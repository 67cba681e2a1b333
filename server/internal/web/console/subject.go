package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// The paths of the files of a subject, below its own path.
const (
	videoFile     = "video"
	thumbnailFile = "thumbnail"
	captionsFile  = "captions"
	pictureFile   = "picture" // of a project
	movingFile    = "moving"  // of a project
)

// fileOf returns the name of a file of a subject, or "" if it has no such file.
func fileOf(subject studio.Subject, file string) string {
	made := subject.Rendering
	return map[string]string{
		videoFile: made.Video, thumbnailFile: made.Thumbnail, captionsFile: made.Captions,
		pictureFile: cmp.Or(subject.Project.CustomThumbnail, made.Previews.StillPlay, made.Thumbnail), movingFile: made.Previews.Animation,
	}[file]
}

// subjectView is the page of one avatar, video or lip-sync.
type subjectView struct {
	row

	AutoConsent studio.Consent // the decision that the service makes if the user makes none; Undecided if it makes none

	NoVideo string     // why no video can be made of an avatar; "" if one can
	Request []property // the request that created it
	Video   string     // the path of the video; "" for none

	Captions string // the path of the captions of the video; "" for none
	ShareURL string // "" if the subject is no project or not shared
}

// Checks returns the checks of the input of an avatar.
func (v subjectView) Checks() []studio.Check {
	checks := slices.Clone(v.Rendering.Checks)
	for i, check := range checks {
		checks[i].Name, checks[i].Message = strings.ReplaceAll(check.Name, "_", " "), withLabels(check.Message)
	}
	return checks
}

// property is a named value that a page shows.
type property struct{ Name, Value string }

func (c *Console) newSubjectView(kind kind, subject studio.Subject) subjectView {
	v := subjectView{row: c.newRow(kind, subject), Request: requestProperties(subject)}
	if decide := c.cfg.Studio.AutoConsent; decide != nil && kind.Avatar() && subject.Status == studio.Processing {
		v.AutoConsent = studio.Refused
		if decide(subject) {
			v.AutoConsent = studio.Granted
		}
	}
	if kind.Avatar() {
		v.NoVideo = c.cfg.NoVideo(subject)
	}
	if subject.Rendering.Video != "" {
		v.Video = v.Path() + "/" + videoFile
	}
	if subject.Rendering.Captions != "" {
		v.Captions = v.Path() + "/" + captionsFile
	}
	v.ShareURL = c.cfg.Studio.ShareURL(&subject)
	return v
}

// requestProperties returns the members of the request that created a subject.
func requestProperties(subject studio.Subject) (properties []property) {
	var request map[string]any
	_ = json.Unmarshal(subject.Request, &request) // the API has validated it
	for _, known := range labels {
		text, _ := request[known.Name].(string)
		if number, ok := request[known.Name].(float64); ok {
			text = fmt.Sprint(number)
		}
		if text == "" || known.Name == "title" || known.Name == "avatar_id" { // the page shows them elsewhere
			continue
		}
		if len(studio.UploadIDs([]byte(text))) > 0 {
			text = "an uploaded file"
		}
		properties = append(properties, property{known.Value, text})
	}
	if request["use_audio_from_video"] == true {
		properties = append(properties, property{label("audio_url"), "the audio of the video"})
	}
	return properties
}

func (c *Console) findSubject(r *http.Request, kind kind, s session) (studio.Subject, error) {
	return c.cfg.Studio.Find(r.Context(), s.ID, kind.Kind, r.PathValue("id"))
}

// subjectPage returns a page about one subject.
func (c *Console) subjectPage(name string) kindPage {
	return func(w http.ResponseWriter, r *http.Request, s session, kind kind) error {
		subject, err := c.findSubject(r, kind, s)
		if err != nil {
			return err
		}
		v := c.newSubjectView(kind, subject)
		return c.render(w, r, http.StatusOK, name, view{Title: v.Name(), Section: kind.Path, Data: v})
	}
}

func (c *Console) subjectLive(w http.ResponseWriter, r *http.Request, s session, kind kind) error {
	if _, err := c.findSubject(r, kind, s); err != nil {
		return err
	}
	return c.stream(w, r, s, func(ctx context.Context) (fragment []byte, next time.Time, err error) {
		subject, err := c.findSubject(r.WithContext(ctx), kind, s)
		if errors.Is(err, studio.ErrNotFound) {
			fragment, err = c.renderFragment("deleted", kind)
			return fragment, next, errors.Join(err, errFinal)
		}
		if err != nil {
			return nil, next, err
		}
		fragment, err = c.renderFragment("state", c.newSubjectView(kind, subject))
		switch {
		case err != nil:
		case subject.Final():
			err = errFinal
		case subject.Status == studio.Processing: // there is no event about its progress
			next = time.Now()
		}
		return fragment, next, err
	})
}

// consent submits the consent decision about an avatar.
func (c *Console) consent(w http.ResponseWriter, r *http.Request, s session, kind kind) error {
	granted := r.PostFormValue("granted")
	done := map[string]string{"true": "consent-given", "false": "consent-refused"}[granted]
	if !kind.Avatar() || done == "" {
		return studio.ErrNotFound
	}
	subject, err := c.cfg.Studio.SubmitConsent(r.Context(), s.ID, r.PathValue("id"), granted == "true")
	if err != nil {
		return err
	}
	return redirect(w, r, c.newRow(kind, subject).Path()+"?done="+done, nil)
}

func (c *Console) deleteSubject(w http.ResponseWriter, r *http.Request, s session, kind kind) error {
	err := c.cfg.Studio.Delete(r.Context(), s.ID, kind.Kind, r.PathValue("id"))
	return redirect(w, r, kind.Path+"?done=deleted", err)
}

// file serves a result of a rendering.
func (c *Console) file(w http.ResponseWriter, r *http.Request, s session, kind kind) error {
	subject, err := c.findSubject(r, kind, s)
	if err != nil {
		return err
	}
	return c.serveFile(w, r, subject)
}

// projectFile serves a result of a rendering to a member of the workspace.
func (c *Console) projectFile(w http.ResponseWriter, r *http.Request, s session) error {
	subject, err := c.cfg.Studio.FindProject(r.Context(), s.ID, r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.serveFile(w, r, subject)
}

func (c *Console) serveFile(w http.ResponseWriter, r *http.Request, subject studio.Subject) error {
	name := fileOf(subject, r.PathValue("file"))
	if name == "" {
		return studio.ErrNotFound
	}
	w.Header().Set("Vary", "Cookie") // browsers must not reuse it in another session
	c.cfg.ServeFile(w, r, studio.ResultKey(subject.ID, name))
	return nil
}
