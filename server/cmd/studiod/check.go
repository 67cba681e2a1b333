package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// violation is how a [store.Violation] is printed.
type violation struct {
	SubjectID string `json:"subject_id"`
	Rule      string `json:"rule"`
}

func checkCommand() *cli.Command {
	return described(leaf("check", "look for rows that contradict each other", "", []cli.Flag{jsonFlag()}, checkDatabase),
		`The database is only read. While a daemon works on it, what has just changed may be reported too: check
again before you believe a single line. A daemon repairs, when it starts, what is due at the wrong time.
JSON fields: subject_id, rule. The exit code is 1 when something is found.

Example: studiod check`)
}

func checkDatabase(ctx context.Context, command *cli.Command) error {
	return withStore(ctx, command, false, func(db *store.Store) error {
		found, err := db.Check(ctx)
		if err != nil {
			return err
		}
		var all []violation
		for _, v := range found {
			all = append(all, violation(v))
		}
		err = printList(command, all, "nothing is wrong", []string{"SUBJECT", "WHAT IT DOES"}, func(v violation) []string {
			return []string{printable(v.SubjectID), v.Rule}
		})
		if err == nil && len(all) > 0 {
			err = fmt.Errorf("%d contradictions are found", len(all))
		}
		return err
	})
}
