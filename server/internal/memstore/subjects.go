package memstore

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// subject is a subject, which is kept without its content after its deletion.
type subject struct {
	studio.Subject

	deletedAt time.Time
}

// keyUse is the use of an idempotency key for a creation or a replay.
type keyUse struct {
	fingerprint []byte
	subjectID   string
	events      int64 // that were replayed
	at          time.Time
}

// used returns the earlier use of a key. The error is [studio.ErrNotFound] if there is none. s.mu must be held.
func (s *Store) used(userID string, key studio.IdempotencyKey) (use keyUse, err error) {
	use, err = find(s.keys, pair{userID, key.Key})
	switch {
	case err != nil || !use.at.After(key.After):
		return keyUse{}, studio.ErrNotFound
	case !bytes.Equal(use.fingerprint, key.Fingerprint):
		return keyUse{}, studio.ErrKeyReused
	}
	return use, nil
}

// live returns a subject that is not deleted. s.mu must be held.
func (s *Store) live(id string) (studio.Subject, error) {
	found, err := find(s.subjects, id)
	if err == nil && !found.deletedAt.IsZero() {
		err = studio.ErrNotFound
	}
	return s.read(found), err
}

// read returns a subject with the title that its avatar has now. s.mu must be held.
func (s *Store) read(row subject) studio.Subject {
	if row.AvatarID != "" {
		row.AvatarTitle = s.subjects[row.AvatarID].Title
	}
	return row.Subject
}

func (s *Store) CreateSubject(
	_ context.Context, created studio.Subject, key studio.IdempotencyKey,
) (studio.Subject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if use, err := s.used(created.UserID, key); !errors.Is(err, studio.ErrNotFound) {
		return s.read(s.subjects[use.subjectID]), err
	}
	var err error
	if created.AvatarID != "" {
		_, err = s.live(created.AvatarID)
	}
	if err == nil {
		created.WorkspaceID, err = s.projectWorkspace(created)
	}
	if err == nil {
		err = insert(s.subjects, created.ID, subject{})
	}
	if err != nil {
		return studio.Subject{}, err
	}
	s.write(created)
	if key.Key != "" {
		s.keys[pair{created.UserID, key.Key}] = keyUse{fingerprint: key.Fingerprint, subjectID: created.ID, at: created.CreatedAt}
	}
	return created, nil
}

// projectWorkspace returns the workspace of a new subject, or that of its user if the user is a member of exactly one.
// s.mu must be held.
func (s *Store) projectWorkspace(created studio.Subject) (id string, err error) {
	if created.WorkspaceID != "" {
		if !s.members[pair{created.WorkspaceID, created.UserID}] {
			err = studio.ErrForbidden
		}
		return created.WorkspaceID, err
	}
	if all := s.workspacesOf(created.UserID); len(all) == 1 {
		id = all[0].ID
	}
	return id, nil
}

func (s *Store) CreatedSubject(_ context.Context, userID string, key studio.IdempotencyKey) (studio.Subject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	use, err := s.used(userID, key)
	return s.read(s.subjects[use.subjectID]), err
}

// write writes a subject and its new events. s.mu must be held.
func (s *Store) write(changed studio.Subject) {
	s.addEvents(changed)
	changed.Events = nil
	s.subjects[changed.ID] = subject{Subject: changed}
}

func (s *Store) Subject(_ context.Context, id string) (studio.Subject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live(id)
}

// subjectsOf returns the subjects of a user that match. s.mu must be held.
func (s *Store) subjectsOf(userID string, match func(studio.Subject) bool) (all []studio.Subject) {
	for _, row := range s.subjects {
		if row.UserID == userID && row.deletedAt.IsZero() && match(row.Subject) {
			all = append(all, s.read(row))
		}
	}
	return all
}

func (s *Store) Subjects(
	_ context.Context, filter studio.SubjectFilter, after studio.Position, limit int,
) (subjects []studio.Subject, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	subjects, more = page(s.subjectsOf(filter.UserID, func(subject studio.Subject) bool {
		return subject.Kind == filter.Kind && (filter.Status == "" || subject.Status == filter.Status) &&
			(filter.AvatarID == "" || subject.AvatarID == filter.AvatarID)
	}), func(s studio.Subject) studio.Position { return studio.Position{CreatedAt: s.CreatedAt, ID: s.ID} }, newest, after, limit)
	return subjects, more, nil
}

func (s *Store) CreationsInProgress(_ context.Context, userID string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subjectsOf(userID, func(subject studio.Subject) bool { return !subject.RenderAt.IsZero() })), nil
}

func (s *Store) UpdateSubject(_ context.Context, id string, change func(*studio.Subject) error) (studio.Subject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, err := s.live(id)
	if err == nil {
		err = change(&changed)
	}
	if err == nil {
		s.write(changed)
	}
	return changed, err
}

// DeleteSubject does not look at the workspace, because only API keys are for one.
func (s *Store) DeleteSubject(
	_ context.Context, userID, _ string, kind studio.Kind, id string, now, repeatAfter time.Time,
) (erased studio.Erased, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deleted, err := find(s.subjects, id)
	if err != nil || deleted.UserID != userID || deleted.Kind != kind || !deleted.deletedAt.IsZero() && !deleted.deletedAt.After(repeatAfter) {
		return studio.Erased{}, studio.ErrNotFound
	}
	var uploads []string
	for _, row := range s.subjects {
		if row.ID == id || row.AvatarID == id {
			erased.IDs = append(erased.IDs, row.ID)
			uploads = append(uploads, studio.UploadIDs(row.Request)...)
			s.erase(row, now)
		}
	}
	for _, id := range uploads {
		upload, err := find(s.uploads, id)
		uses := func(subject studio.Subject) bool { return strings.Contains(string(subject.Request), id) }
		if err == nil && upload.UserID == userID && len(s.subjectsOf(userID, uses)) == 0 {
			erased.Uploads = append(erased.Uploads, upload.Key)
			delete(s.uploads, id)
		}
	}
	return erased, nil
}

// erase erases the content of a subject and ends its undelivered events, unless it is deleted. s.mu must be held.
func (s *Store) erase(row subject, now time.Time) {
	if !row.deletedAt.IsZero() {
		return
	}
	kept := studio.Subject{
		ID: row.ID, Kind: row.Kind, UserID: row.UserID, AvatarID: row.AvatarID, WorkspaceID: row.WorkspaceID, WebhookURL: row.WebhookURL,
		CreatedAt: row.CreatedAt,
	}
	s.subjects[row.ID] = subject{kept, now}
	for _, event := range s.events {
		if event.SubjectID == row.ID && event.State != studio.EventDelivered {
			event.State, event.Reason, event.EndedAt = studio.EventExhausted, studio.ReasonDeleted, now
		}
	}
}
