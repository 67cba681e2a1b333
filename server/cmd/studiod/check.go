package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// violation is the printed form of a [store.Violation].
type violation struct {
	SubjectID string `json:"subject_id"`
	Rule      string `json:"rule"`
}

func checkCommand() *cli.Command {
	return described(leaf("check", "report inconsistent rows", "", []cli.Flag{jsonFlag()}, checkDatabase),
		`The command changes nothing. While a daemon is running, it can report rows that are just changing, so check
again before you act. A daemon corrects wrong due times at its start. JSON fields: subject_id, rule. The exit
code is 1 if a row is inconsistent.

Example: studiod check`)
}

func checkDatabase(ctx context.Context, command *cli.Command) error {
	return withStore(ctx, command, false, func(db *store.Store) error {
		found, err := db.Check(ctx)
		if err != nil {
			return err
		}
		err = printList(command, found, func(v store.Violation) violation { return violation(v) }, "no inconsistent rows", []string{"SUBJECT", "PROBLEM"}, func(v violation) []string {
			return []string{v.SubjectID, v.Rule}
		})
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%d inconsistencies", len(found))
		}
		return err
	})
}
