package main

import (
	"context"
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
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(file)
		if err != nil || info.Mode()&others == 0 { // it was opened, or does not exist
			continue
		}
		logger.WarnContext(ctx, "other users of this machine had access to the database", "path", file)
		if err := os.Chmod(file, info.Mode().Perm()&^others); err != nil {
			logger.WarnContext(ctx, "cannot remove the permissions of other users from the database", "err", err)
		}
	}
}
