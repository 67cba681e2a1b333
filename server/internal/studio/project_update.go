package studio

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"time"
)

// ProjectDetails is what the owner of a project has added to its subject.
type ProjectDetails struct {
	Tags            Tags      `json:"tags,omitzero"`
	CustomThumbnail string    `json:"custom_thumbnail,omitempty"` // file of the subject in the [Media], like those of its Rendering
	SharedAt        time.Time `json:"shared_at,omitzero"`         // zero if the project is not shared
}

// Tags are the labels of a project, each of one line.
type Tags struct {
	Colors []string `json:"colors,omitempty"`
	Names  []string `json:"names,omitempty"`
}

// ProjectChange is a change of a project. Fields that are nil stay as they are.
type ProjectChange struct {
	WorkspaceID     string // of the project; "" for any
	Title           *string
	Tags            *Tags
	CustomThumbnail *string // id of an upload of the caller, which is copied; "" removes the thumbnail
	Shared          *bool
}

// maxThumbnailBytes limits custom thumbnails, which count against no limit of the user.
const maxThumbnailBytes = 10 << 20

// thumbnailTypes are the media types that browsers show and pages allow.
//
//nolint:gochecknoglobals // a table
var thumbnailTypes = []string{"image/jpeg", "image/png", "image/webp", "image/gif"}

// UpdateProject changes a project of the user. The error is [ErrNotFound] if the user has no such project,
// [ErrImported] if it is an imported one in a workspace of the user, [ErrTitle] or [ErrThumbnail] if the change is
// invalid, and [ErrNoVideo] if an avatar is to be shared.
func (s *Service) UpdateProject(ctx context.Context, userID, projectID string, change ProjectChange) (Project, error) {
	if err := checkTitle(change.Title); err != nil {
		return Project{}, err
	}
	subject, err := s.ownProject(ctx, userID, change.WorkspaceID, projectID)
	if err != nil {
		return Project{}, err
	}
	if subject.Kind == Avatar && change.Shared != nil && *change.Shared {
		return Project{}, ErrNoVideo
	}
	var thumbnail string
	if change.CustomThumbnail != nil && *change.CustomThumbnail != "" {
		if thumbnail, err = s.copyThumbnail(ctx, userID, projectID, *change.CustomThumbnail); err != nil {
			return Project{}, err
		}
	}
	var before string
	changed, err := s.Store.UpdateSubject(ctx, projectID, func(subject *Subject) error {
		before = subject.Project.CustomThumbnail
		s.applyChange(subject, change, thumbnail)
		return nil
	})
	if errors.Is(err, ErrNotFound) && thumbnail != "" { // deleted during the copy
		err = errors.Join(err, s.Media.Erase(ctx, ResultKey(projectID, thumbnail)))
	}
	if err != nil { // after another error, the change may have been made, and if not, the copy is swept later
		return Project{}, err
	}
	if before != "" && before != changed.Project.CustomThumbnail {
		err = s.Media.Erase(ctx, ResultKey(projectID, before))
	}
	used, readErr := s.Store.VideoSeconds(ctx, userID)
	return NewProject(&changed, used), errors.Join(err, readErr)
}

// ownProject returns the subject that is a project of the user, in a workspace unless its ID is "".
func (s *Service) ownProject(ctx context.Context, userID, workspaceID, projectID string) (Subject, error) {
	workspaceID = cmp.Or(onlyWorkspace(ctx), workspaceID)
	subject, err := s.Store.Subject(ctx, projectID)
	if err == nil && (subject.UserID != userID || subject.WorkspaceID == "" || workspaceID != "" && subject.WorkspaceID != workspaceID) {
		err = ErrNotFound
	}
	if errors.Is(err, ErrNotFound) {
		imported, importedErr := s.Store.IsImported(ctx, userID, workspaceID, projectID)
		if importedErr != nil {
			return subject, importedErr
		}
		if imported {
			return subject, ErrImported
		}
	}
	return subject, err
}

// applyChange applies a change to the subject of a project. thumbnail is the name of the new custom thumbnail.
func (s *Service) applyChange(subject *Subject, change ProjectChange, thumbnail string) {
	if change == (ProjectChange{WorkspaceID: change.WorkspaceID}) {
		return
	}
	subject.UpdatedAt = s.now()
	details := &subject.Project
	if change.Title != nil {
		subject.Title = change.Title
	}
	if change.Tags != nil {
		details.Tags = Tags{lines(change.Tags.Colors), lines(change.Tags.Names)}
	}
	if change.CustomThumbnail != nil {
		details.CustomThumbnail = thumbnail
	}
	switch {
	case change.Shared == nil:
	case !*change.Shared:
		details.SharedAt = time.Time{}
	case details.SharedAt.IsZero():
		details.SharedAt = subject.UpdatedAt
	}
}

// copyThumbnail copies an uploaded picture of the user to the results of a subject, so that both are erased together.
// It returns the name of the copy.
func (s *Service) copyThumbnail(ctx context.Context, userID, subjectID, uploadID string) (name string, err error) {
	upload, err := s.Store.Upload(ctx, uploadID)
	switch {
	case err != nil:
	case upload.UserID != userID || !s.now().Before(upload.ExpiresAt):
		err = ErrNotFound
	case !slices.Contains(thumbnailTypes, upload.ContentType) || upload.Size > maxThumbnailBytes:
		err = ErrThumbnail
	}
	if err == nil {
		name = "custom_thumbnail-" + NewID() + path.Ext(upload.Key) // a concurrent change may erase an earlier copy
		err = s.copyFile(ctx, ResultKey(subjectID, name), upload.Key)
	}
	if errors.Is(err, ErrNotFound) {
		err = ErrThumbnail
	}
	return name, err
}

func (s *Service) copyFile(ctx context.Context, to, from string) error {
	content, err := s.Media.Open(ctx, from)
	if err != nil {
		return err
	}
	return errors.Join(s.Media.Write(ctx, to, content), content.Close())
}
