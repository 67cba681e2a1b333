package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
)

// keepPrivate removes the permissions of all users but the owner and the group from a SQLite file, because
// it contains secrets. It logs a warning if there were any.
func keepPrivate(ctx context.Context, database string, logger *slog.Logger) {
	path, ok := sqlitePath(database)
	if !ok || runtime.GOOS == "windows" { // Windows has no such permissions
		return
	}
	const others = 0o007
	var exposed bool
	var errs []error
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, err)
		case info.Mode()&others != 0:
			exposed = true
			errs = append(errs, os.Chmod(file, info.Mode().Perm()&^others))
		}
	}
	if exposed {
		logger.WarnContext(ctx, "other users of this machine had access to the database", "path", path)
	}
	if err := errors.Join(errs...); err != nil {
		logger.WarnContext(ctx, "cannot remove the permissions of other users from the database", "path", path, "err", err)
	}
}
