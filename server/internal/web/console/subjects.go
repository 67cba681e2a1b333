package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// subjectsView is the page that lists avatars, videos or lip-syncs.
type subjectsView struct {
	pager

	Kind     kind
	Status   studio.Status // the filter; "" for all
	AvatarID string        // the filter of videos; "" for all
	Search   string        // the text in their titles; "" for all
	Rows     []row
	Live     string // the path of the stream
}

// row is a subject in a list.
type row struct {
	studio.Subject

	Kind     kind
	Picture  string // the path of the thumbnail; "" for none
	Activity string // what the rendering does, and the time left; "" if unknown
}

// Path returns the path of the page of the subject.
func (v row) Path() string { return v.Kind.pathOf(v.ID) }

// Final reports whether the state of the subject is final.
func (v row) Final() bool { return v.Subject.Final() }

// Name returns the title, or a text for subjects without one.
func (v row) Name() string { return v.Kind.name(v.Title) }

// AvatarName is Name of the avatar of a video.
func (v row) AvatarName() string { return kindOf(studio.Avatar).name(v.AvatarTitle) }

// Reason returns why the subject failed, or "".
func (v row) Reason() string { return withLabels(v.FailureReason) }

// Queued reports whether the subject waits for its rendering.
func (v row) Queued() bool { return !v.Started && v.Progress == 0 }

func (c *Console) listSubjects(ctx context.Context, kind kind, s session, query url.Values) (subjectsView, error) {
	v := subjectsView{Kind: kind, Status: studio.Status(query.Get("status")), Search: query.Get("title")}
	if kind.Kind == studio.Video {
		v.AvatarID = query.Get("avatar_id")
	}
	filter := studio.SubjectFilter{UserID: s.ID, Kind: kind.Kind, Status: v.Status, AvatarID: v.AvatarID, Title: v.Search}
	page, err := c.cfg.Studio.List(ctx, filter, query.Get("cursor"), pageSize)
	if err != nil {
		return v, err
	}
	for _, subject := range page.Subjects {
		v.Rows = append(v.Rows, c.newRow(kind, subject))
	}
	v.Live = kind.Path + "/live?" + query.Encode()
	v.pager = newPager(kind.Path, filtersOf(query, "status", "avatar_id", "title"), query.Get("cursor"), page.Next)
	return v, nil
}

func (c *Console) newRow(kind kind, subject studio.Subject) row {
	v := row{Subject: subject, Kind: kind, Activity: activity(c.cfg.Studio.Progress(&subject))}
	if subject.Rendering.Thumbnail != "" {
		v.Picture = v.Path() + "/" + thumbnailFile
	}
	return v
}

func (c *Console) subjects(w http.ResponseWriter, r *http.Request, s session, kind kind) error {
	v, err := c.listSubjects(r.Context(), kind, s, r.URL.Query())
	if err != nil {
		return err
	}
	return c.render(w, r, http.StatusOK, "subjects", view{Title: kind.Title, Section: kind.Path, Data: v})
}

func (c *Console) subjectsLive(w http.ResponseWriter, r *http.Request, s session, kind kind) error {
	query := r.URL.Query()
	return c.stream(w, r, s, func(ctx context.Context) (fragment []byte, next time.Time, err error) {
		v, err := c.listSubjects(ctx, kind, s, query)
		if err != nil {
			return nil, next, err
		}
		if slices.ContainsFunc(v.Rows, func(row row) bool { return row.Status == studio.Processing }) {
			next = time.Now() // there is no event about its progress
		}
		fragment, err = c.renderFragment("rows", v)
		return fragment, next, err
	})
}
