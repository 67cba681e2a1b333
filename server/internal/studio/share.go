package studio

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
)

// SharePath is the prefix of the path of the pages that play the videos of shared projects. The rest of the path is
// what [Service.SharedProject] expects.
const SharePath = "/share/"

// ShareURL returns the URL of the page that plays the video of a project to everyone, or "" if the project is not
// shared. A project that is shared again has another URL.
func (s *Service) ShareURL(project *Subject) string {
	if project.Project.SharedAt.IsZero() {
		return ""
	}
	return s.PublicURL + SharePath + project.ID + "." + s.shareMAC(project)
}

// SharedProject returns the project of a link: what follows [SharePath] in its URL. The error is [ErrNotFound] if there
// is no such project, it is not shared any more, its user is disabled, or it has no video yet. SharedProject reads the
// project each time, so a link ends at once everywhere.
func (s *Service) SharedProject(ctx context.Context, link string) (Subject, error) {
	id, mac, _ := strings.Cut(link, ".")
	project, err := s.database.ActiveSubject(ctx, id)
	if err != nil {
		return Subject{}, err
	}
	if project.Project.SharedAt.IsZero() || project.Status != Succeeded || !hmac.Equal([]byte(mac), []byte(s.shareMAC(&project))) {
		return Subject{}, ErrNotFound
	}
	return project, nil
}

// Unshare ends the sharing of a project of any user, for an operator. shared is its ID, its link, or a URL that begins
// with its link, which may also be an earlier one. The user can share the project again, which makes another link.
// Unshare returns the ID. The error is [ErrNotFound] if there is no such project, or it is not shared.
func (s *Service) Unshare(ctx context.Context, by User, shared string) (projectID string, err error) {
	if plain, err := url.PathUnescape(shared); err == nil { // a browser opens an escaped link, too
		shared = plain
	}
	if _, link, found := strings.Cut(shared, SharePath); found {
		shared = link
	}
	projectID, _, _ = strings.Cut(strings.TrimSpace(shared), ".")
	if _, err := s.Store.Subject(ctx, projectID); err != nil {
		return "", err // without an act, which the database may not be able to store
	}
	ctx = s.WithAct(ctx, by, "stopped the sharing of a video", projectID)
	_, err = s.Store.UpdateSubject(ctx, projectID, func(project *Subject) error {
		if project.Project.SharedAt.IsZero() {
			return ErrNotFound
		}
		s.applyChange(project, ProjectChange{Shared: new(false)}, "")
		return nil
	})
	return projectID, err
}

// shareMAC authenticates the link to a project for as long as it is shared.
func (s *Service) shareMAC(project *Subject) string {
	at := strconv.FormatInt(project.Project.SharedAt.UnixMicro(), 10)
	return base64.RawURLEncoding.EncodeToString(mac(s.Key, "share", project.ID, at))
}
