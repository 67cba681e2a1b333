package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest" //nolint:depguard // for what it inserts
)

// batch is a number of pending events to insert. Each subject has the same number of events, and the
// subjects are distributed over the URLs.
type batch struct {
	name     string // unique in a database
	userID   string // defaults to the user of the database
	urls     []string
	subjects int
	events   int // events per subject
}

// numbers is the table n with the numbers from 1 to $1.
const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS INTEGER)) `

// seed inserts a batch in one transaction, as if studiod had written the events before it stopped.
func (db *database) seed(ctx context.Context, b batch) error {
	return db.change(ctx, func(tx *sql.Tx) error {
		for i, address := range b.urls {
			subjects := (b.subjects + len(b.urls) - 1 - i) / len(b.urls)
			if subjects == 0 {
				continue
			}
			backlog := studiotest.Backlog{
				UserID: cmp.Or(b.userID, db.userID), Prefix: fmt.Sprintf("%s-%d-", b.name, i), URL: address, Subjects: subjects, Events: b.events,
			}
			if err := backlog.Insert(ctx, tx, db.DSN); err != nil {
				return err
			}
		}
		return nil
	})
}

// seedProjects inserts projects into a workspace.
func (db *database) seedProjects(ctx context.Context, workspaceID string, projects int) error {
	return db.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, numbers+`
			INSERT INTO projects (id, workspace_id, user_id, created_at, published, document)
			SELECT 'project-' || i, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT) + i, 0,
				'{"project_id":"project-' || i || '","title":"Project number ' || i || '","status":"draft","thumbnail":"https://media.example.com/thumbnails/project-' || i || '.png"}'
			FROM n`, projects, workspaceID, db.userID, time.Now().UnixMicro())
		return err
	})
}

func (db *database) change(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := db.SQL.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil || db.Name == measure.SQLite {
		return err
	}
	_, err = db.SQL.ExecContext(ctx, "ANALYZE") // autovacuum would do this later
	return err
}
