package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/passwords"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest" //nolint:depguard // for its PostgreSQL
)

const (
	password        = "correct horse battery staple"
	projectsPerUser = 20
)

// user is a user with a workspace. login sets the token and the secret.
type user struct {
	email, workspace, token string
	secret                  webhook.Secret
}

// addUsers adds n users. Each is the member of a workspace with projectsPerUser projects.
func addUsers(ctx context.Context, dsn string, n int) (users []*user, err error) {
	s, err := store.Open(ctx, dsn, store.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	hash, err := passwords.New().Hash(ctx, password)
	if err != nil {
		return nil, err
	}
	cfg := studiotest.Config(s, time.Now)
	cfg.Passwords = fixedHash(hash)
	service := studio.New(cfg)
	for i := range n {
		u := &user{email: fmt.Sprintf("user%d@example.com", i), workspace: uuid.NewString()}
		added, err := service.AddUser(ctx, "", u.email, password)
		if err != nil {
			return nil, err
		}
		if _, err := service.AddWorkspace(ctx, u.workspace, u.email); err != nil {
			return nil, err
		}
		if err := service.AddMember(ctx, u.workspace, u.email); err != nil {
			return nil, err
		}
		all, err := newProjects(added.ID, u.workspace)
		if err != nil {
			return nil, err
		}
		if _, err := service.ImportProjects(ctx, all); err != nil {
			return nil, err
		}
		users = append(users, u)
	}
	return users, nil
}

// fixedHash is a password hash that is used for all users, because hashing is slow.
type fixedHash string

func (h fixedHash) Hash(context.Context, string) (string, error) { return string(h), nil }
func (fixedHash) Compare(context.Context, string, string) (bool, error) {
	return false, errors.ErrUnsupported
}

// newProjects returns projects in which every member has a value.
func newProjects(userID, workspaceID string) (all []studio.Project, err error) {
	for i := range projectsPerUser {
		id, created := uuid.Must(uuid.NewV7()).String(), time.Now().UTC().Truncate(time.Second)
		media := "https://media.example.com/projects/" + id
		title, status, language := fmt.Sprintf("Product tour %d", i), "published", "english"
		png, gif, video := media+"/thumbnail.png", media+"/thumbnail.gif", media+"/video.mp4"
		document, err := json.Marshal(gen.Project{
			UserID: &userID, ProjectID: &id, Title: &title, ProjectType: new("PERSONALIZED"), CreatedAt: &created, UpdatedAt: &created,
			Thumbnail: &png, Thumbnails: &gen.Thumbnails{
				ThumbnailPNG: &png, ThumbnailPlayPNG: new(""), ThumbnailGIF: &gif, ThumbnailPlayGIF: new(""), CustomThumbnail: new(""),
			},
			Status: &status, Language: &language, Tags: &gen.Tags{Colors: &[]string{"#2f6f1f"}, Names: &[]string{"tour"}},
			AvailableCredits: new(100), UtilisedCredits: new(i), Video: &video, TrainingJobID: new("job-" + id), SRT: new(""),
			SRTTargetLanguage: &language, VoicePath: new("voices/english.wav"), SmartURL: new("https://video.example.com/" + id),
			RecordingScript: new(title + "."), DataPlaneID: &workspaceID,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, studio.Project{ID: id, WorkspaceID: workspaceID, UserID: userID, CreatedAt: created, Published: true, Document: document})
	}
	return all, nil
}

// newEncryptionKey returns a new value for STUDIO_KEYS.
func newEncryptionKey() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}
