package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Names of the files of a subject, below its path.
const (
	videoFile     = "video"
	thumbnailFile = "thumbnail"
)

// subjectView is the page of one avatar, video or lip-sync.
type subjectView struct {
	row

	Request []member // what it is made from
	Webhook string   // without its query, which may hold a secret
	Video   string   // the address of what was made; "" when there is none
}

// member is a name and a text.
type member struct{ Name, Text string }

func viewOf(kind kind, subject studio.Subject) subjectView {
	v := subjectView{row: rowOf(kind, subject), Request: requestOf(subject), Webhook: withoutQuery(subject.WebhookURL)}
	if subject.Rendering.Video != "" {
		v.Video = v.Path() + "/" + videoFile
	}
	return v
}

// requestOf tells what a subject is made from.
func requestOf(subject studio.Subject) (members []member) {
	var request map[string]any
	_ = json.Unmarshal(subject.Request, &request) // an object, because the API took it
	for _, known := range []member{
		{"description", "Description"}, {"text", "Text"}, {"base_video_url", "Recording"}, {"video_url", "Video"}, {"audio_url", "Sound"}, {"sync_mode", "Different lengths"},
	} {
		text, ok := request[known.Name].(string)
		if !ok || text == "" {
			continue
		}
		if len(studio.UploadIDs([]byte(text))) > 0 {
			text = "a file that you sent"
		}
		members = append(members, member{known.Text, text})
	}
	if request["use_audio_from_video"] == true {
		members = append(members, member{"Sound", "that of the video"})
	}
	return members
}

func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.RawQuery == "" {
		return address
	}
	u.RawQuery = ""
	return u.String() + "?…"
}

func (c *Console) find(r *http.Request, kind kind, s session) (studio.Subject, error) {
	return c.cfg.Studio.Find(r.Context(), s.ID, kind.Kind, r.PathValue("id"))
}

func (c *Console) subject(kind kind) page { return c.subjectPage(kind, "subject") }

func (c *Console) askDelete(kind kind) page { return c.subjectPage(kind, "delete") }

func (c *Console) subjectPage(kind kind, name string) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		subject, err := c.find(r, kind, s)
		if err != nil {
			return err
		}
		v := viewOf(kind, subject)
		c.render(w, r, http.StatusOK, name, view{Title: v.Name(), Section: kind.Path, Data: v})
		return nil
	}
}

func (c *Console) subjectLive(kind kind) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if _, err := c.find(r, kind, s); err != nil {
			return err
		}
		return c.stream(w, r, s, func(context.Context) ([]byte, error) {
			subject, err := c.find(r, kind, s)
			if errors.Is(err, studio.ErrNotFound) {
				part, err := c.part("gone", kind)
				return part, errors.Join(err, errLast)
			}
			if err != nil {
				return nil, err
			}
			part, err := c.part("state", viewOf(kind, subject))
			if err == nil && subject.Final() {
				err = errLast
			}
			return part, err
		})
	}
}

// consent takes the decision of the person whom an avatar shows.
func (c *Console) consent(kind kind) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if !kind.Avatar() {
			return studio.ErrNotFound
		}
		granted := r.PostFormValue("granted") == "true"
		if !granted && r.PostFormValue("granted") != "false" {
			return studio.ErrNotFound
		}
		subject, err := c.cfg.Studio.SubmitConsent(r.Context(), s.ID, r.PathValue("id"), granted)
		if err != nil {
			return err
		}
		done := "consent-refused"
		if granted {
			done = "consent-given"
		}
		http.Redirect(w, r, rowOf(kind, subject).Path()+"?done="+done, http.StatusSeeOther) //nolint:gosec // a path of the console
		return nil
	}
}

func (c *Console) deleteSubject(kind kind) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if err := c.cfg.Studio.Delete(r.Context(), s.ID, kind.Kind, r.PathValue("id")); err != nil {
			return err
		}
		http.Redirect(w, r, kind.Path+"?done=deleted", http.StatusSeeOther)
		return nil
	}
}

// file serves what was made.
func (c *Console) file(kind kind) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		subject, err := c.find(r, kind, s)
		if err != nil {
			return err
		}
		name := map[string]string{videoFile: subject.Rendering.Video, thumbnailFile: subject.Rendering.Thumbnail}[r.PathValue("file")]
		if name == "" {
			return studio.ErrNotFound
		}
		w.Header().Set("Vary", "Cookie") // a browser keeps it for this session alone
		c.cfg.ServeFile(w, r, studio.ResultKey(subject.ID, name))
		return nil
	}
}
