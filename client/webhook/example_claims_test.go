package webhook_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"

	_ "modernc.org/sqlite"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// sqlClaims stores claims in a database, for receivers in several processes. Its statements work on SQLite
// and PostgreSQL.
type sqlClaims struct{ db *sql.DB }

const createClaims = `CREATE TABLE claims (id TEXT PRIMARY KEY, done BOOLEAN NOT NULL, until BIGINT NOT NULL)`

func (c sqlClaims) Claim(ctx context.Context, id string) (webhook.ClaimResult, error) {
	now := time.Now()
	result, err := c.db.ExecContext(ctx, `INSERT INTO claims (id, done, until) VALUES ($1, FALSE, $2)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until WHERE NOT claims.done AND claims.until <= $3`,
		id, now.Add(5*time.Minute).UnixMilli(), now.UnixMilli())
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); n == 1 || err != nil {
		return webhook.Claimed, err
	}
	var done bool
	err = c.db.QueryRowContext(ctx, `SELECT done FROM claims WHERE id = $1`, id).Scan(&done)
	if done {
		return webhook.Done, err
	}
	if errors.Is(err, sql.ErrNoRows) { // another caller has just released it
		err = nil
	}
	return webhook.InProgress, err
}

func (c sqlClaims) Commit(ctx context.Context, id string) error {
	_, err := c.db.ExecContext(ctx, `UPDATE claims SET done = TRUE WHERE id = $1`, id)
	return err
}

func (c sqlClaims) Release(ctx context.Context, id string) error {
	_, err := c.db.ExecContext(ctx, `DELETE FROM claims WHERE id = $1 AND NOT done`, id)
	return err
}

// Two receivers that share a database handle a notification once, even if the first delivery failed.
func ExampleClaims() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, createClaims); err != nil {
		panic(err)
	}
	busy := true
	handlers := webhook.Handlers{Unhandled: func(_ context.Context, event gen.Event, delivery webhook.Delivery) error {
		if busy {
			return errors.New("try again")
		}
		fmt.Println("handled", delivery.ID)
		return nil
	}}
	var receivers [2]*webhook.Receiver
	for i := range receivers {
		if receivers[i], err = webhook.NewReceiver(handlers, webhook.Unverified()); err != nil { // use StandardWebhooks in a program
			panic(err)
		}
		receivers[i].Claims = sqlClaims{db}
	}
	header := http.Header{}
	header.Set(webhook.HeaderID, "event-1")
	body := []byte(`{"event_type":"avatar_event","data":{"avatar_id":"a-1","status":"published"}}`)
	fmt.Println(receivers[0].Handle(ctx, header, body))
	busy = false
	fmt.Println(receivers[1].Handle(ctx, header, body))
	fmt.Println(receivers[0].Handle(ctx, header, body))
	// Output:
	// webhook: the callback failed: try again
	// handled event-1
	// <nil>
	// <nil>
}
