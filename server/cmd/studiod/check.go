package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

func checkCommand() *cli.Command {
	return described(leaf("check", "report inconsistent rows", "", []cli.Flag{jsonFlag()}, onStore(checkDatabase)),
		`The command changes nothing. While a daemon is running, it can report rows that are just changing, so check
again before you act. A daemon corrects wrong due times at its start. JSON fields: subject_id, rule. The exit
code is 1 if a row is inconsistent.

Example: studiod check`)
}

func checkDatabase(ctx context.Context, command *cli.Command, db *store.Store) error {
	found, err := db.Check(ctx)
	if err != nil {
		return err
	}
	err = columns[store.Violation]{
		{"subject_id", "SUBJECT", func(v store.Violation) any { return v.SubjectID }},
		{"rule", "PROBLEM", func(v store.Violation) any { return v.Rule }},
	}.list(command, found, "no inconsistent rows")
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("inconsistencies: %d", len(found))
	}
	return err
}
