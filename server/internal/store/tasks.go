package store

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// The kinds of tasks.
const (
	eraseUser       = "user"
	eraseAvatar     = "avatar"
	shiftDeliveries = "deliveries"
	shiftReplays    = "replays"
)

// lockPause is after how long another process that waits for the lock of SQLite has asked for it again: every 100 ms.
const lockPause = 110 * time.Millisecond

// task is work on many rows that is done in batches, so that no transaction is long. A task that a process has left
// unfinished is due for any daemon.
type task struct {
	id, kind string
	shift    time.Duration
	after    studio.Position // of the last row that was done
	dueAt    time.Time
}

// add returns the statement that adds a task.
func (t *task) add() statement {
	return statement{
		`INSERT INTO tasks (id, kind, shift, after_at, after_id, due_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`,
		[]any{t.id, t.kind, t.shift.Microseconds(), t.after.CreatedAt.UnixMicro(), t.after.ID, micros(t.dueAt)},
	}
}

func (s *Store) DueTask(ctx context.Context, now time.Time) (id string, err error) {
	err = queryRow(ctx, s.engine, []any{&id}, `SELECT id FROM tasks WHERE due_at <= $1 ORDER BY due_at, id LIMIT 1`, micros(now))
	return id, err
}

func (s *Store) NextBatch(ctx context.Context, id string, now time.Time) (erased studio.Erased, err error) {
	var flows []Flow // of erased subjects
	began := time.Now()
	err = s.write(ctx, func(tx transaction) error {
		erased, flows = studio.Erased{}, nil
		t := task{id: id}
		err := queryRow(ctx, tx, []any{&t.kind, interval{&t.shift}, instant{&t.after.CreatedAt}, &t.after.ID},
			`SELECT kind, shift, after_at, after_id FROM tasks WHERE id = $1`+tx.forUpdate(), id)
		if errors.Is(err, studio.ErrNotFound) { // done
			return nil
		}
		if err != nil {
			return err
		}
		switch t.kind {
		case eraseUser:
			erased, flows, err = eraseOfUser(ctx, tx, id, now)
		case eraseAvatar:
			erased, flows, err = t.eraseVideos(ctx, tx, now)
		default:
			erased.More, err = t.shiftDue(ctx, tx)
		}
		if err != nil {
			return err
		}
		last := statement{`DELETE FROM tasks WHERE id = $1`, []any{id}}
		if erased.More {
			last = statement{`UPDATE tasks SET after_at = $2, after_id = $3 WHERE id = $1`, []any{id, t.after.CreatedAt.UnixMicro(), t.after.ID}}
		}
		return tx.execAll(ctx, []statement{last})
	})
	if err == nil && len(flows) > 0 {
		s.signalFlows(SignalDeleted, flows) //nolint:contextcheck // the deletion is committed even if ctx has ended
	}
	if err == nil && erased.More && !s.Shared() { // a daemon, or a command beside it, would hardly get the lock in between
		studio.Pause(ctx, min(time.Since(began), lockPause))
	}
	return erased, err
}

// ShiftDue adds by to the due time of every delivery and replay, after the clock of the machine was set. by is negative
// if the clock was set back. It adds tasks, which [Store.NextBatch] works off.
func (s *Store) ShiftDue(ctx context.Context, by time.Duration) error {
	err := s.execAll(ctx, shiftTasks(by))
	s.signals.send(SignalTask)
	return err
}

// shiftTasks returns the statements of ShiftDue.
func shiftTasks(by time.Duration) (all []statement) {
	for _, kind := range []string{shiftDeliveries, shiftReplays} {
		t := task{id: rand.Text(), kind: kind, shift: by, after: studio.Position{CreatedAt: time.UnixMicro(0)}, dueAt: time.UnixMicro(1)}
		all = append(all, t.add())
	}
	return all
}

// shiftDue shifts the due times of the next rows, and moves the task to the last of them. A row that another
// transaction adds meanwhile may be shifted, too, and is then early.
func (t *task) shiftDue(ctx context.Context, tx transaction) (more bool, err error) {
	key, column := "subject_id", "due_at"
	if t.kind == shiftReplays {
		key, column = "id", "turn_at"
	}
	ids, err := queryRows(ctx, tx, oneColumn[string], `SELECT `+key+` FROM `+t.kind+` WHERE `+key+` > $1 ORDER BY `+key+` `+limitTo("$2"), t.after.ID, batchRows)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	t.after.ID = ids[len(ids)-1]
	var where conditions
	update := `UPDATE ` + t.kind + ` SET ` + column + ` = ` + column + ` + ` + where.parameter(t.shift.Microseconds()) +
		` WHERE ` + tx.in(key, where.elements(tx, ids))
	if t.kind == shiftReplays {
		tx.mark(SignalReplay, "")
		_, err = tx.exec(ctx, update, where.args...)
		return len(ids) == batchRows, err
	}
	err = tx.query(ctx, func(scan func(...any) error) error {
		var flow Flow
		err := scan(&flow.UserID, &flow.Origin)
		tx.mark(SignalDue, flow.key())
		return err
	}, update+` RETURNING user_id, origin`, where.args...)
	return len(ids) == batchRows, err
}
