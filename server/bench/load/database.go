package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver pgx
	_ "modernc.org/sqlite"             // database/sql's driver sqlite

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest" //nolint:depguard // for its PostgreSQL
)

// The kinds of databases.
const (
	sqliteName   = "SQLite"
	postgresName = "PostgreSQL"
)

const (
	password = "correct horse battery staple"
	projects = 20 // of each user's workspace
	callers  = 16 // of the floor
)

// database is one of its own, with users in it.
type database struct {
	dsn        string
	sql        *sql.DB // beside the service
	postmaster int     // the process of the server; 0 on SQLite
	stop       func() error
}

// user has a workspace of projects, and later a token and a secret.
type user struct {
	email, workspace, token string
	secret                  webhook.Secret
}

// openDatabase makes a database, on a server of PostgreSQL that is its own.
func openDatabase(ctx context.Context, name, directory string) (*database, error) {
	if name == sqliteName {
		path := filepath.Join(directory, "studio.db")
		db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return &database{dsn: "sqlite:" + path, sql: db, stop: db.Close}, nil
	}
	cluster, err := studiotest.StartCluster("fsync=on") //nolint:contextcheck // it is stopped
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("pgx", cluster.DSN)
	if err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	db.SetMaxOpenConns(callers)
	db.SetMaxIdleConns(callers)
	d := &database{dsn: cluster.DSN, sql: db, stop: func() error { return errors.Join(db.Close(), cluster.Close()) }}
	var file string
	if err := db.QueryRowContext(ctx, `SHOW data_directory`).Scan(&file); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	pid, _ := os.ReadFile(filepath.Join(file, "postmaster.pid"))
	first, _, _ := strings.Cut(string(pid), "\n")
	d.postmaster, _ = strconv.Atoi(first)
	return d, nil
}

// addUsers adds users with a workspace of projects each, as the operator's commands do.
func (db *database) addUsers(ctx context.Context, n int) (users []*user, err error) {
	s, err := store.Open(ctx, db.dsn, store.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	hash, err := auth.NewPasswords().Hash(ctx, password)
	if err != nil {
		return nil, err
	}
	cfg := studiotest.Config(s, time.Now)
	cfg.Passwords = hashed(hash)
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
		all, err := projectsOf(added.ID, u.workspace)
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

// hashed is the hash of every password, which takes long to make.
type hashed string

func (h hashed) Hash(context.Context, string) (string, error) { return string(h), nil }
func (hashed) Compare(context.Context, string, string) (bool, error) {
	return false, errors.ErrUnsupported
}

// projectsOf are projects with every field.
func projectsOf(userID, workspaceID string) (all []studio.Project, err error) {
	for i := range projects {
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

// newKeys is what a key file has.
func newKeys() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // which never fails
	return base64.StdEncoding.EncodeToString(key)
}

// floor returns how many transactions of one row the database takes in a second.
func (db *database) floor(ctx context.Context, d time.Duration) (float64, error) {
	if _, err := db.sql.ExecContext(ctx, `CREATE TABLE floor (n BIGINT)`); err != nil {
		return 0, err
	}
	var count atomic.Int64
	var working sync.WaitGroup
	errs := make([]error, callers)
	began := time.Now()
	for i := range callers {
		working.Go(func() {
			for time.Since(began) < d && errs[i] == nil {
				_, errs[i] = db.sql.ExecContext(ctx, `INSERT INTO floor VALUES ($1)`, 1)
				count.Add(1)
			}
		})
	}
	working.Wait()
	rate := float64(count.Load()) / time.Since(began).Seconds()
	_, err := db.sql.ExecContext(ctx, `DROP TABLE floor`)
	return rate, errors.Join(append(errs, err)...)
}
