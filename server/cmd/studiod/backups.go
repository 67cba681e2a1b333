package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/backup"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
)

func backupFlag() cli.Flag {
	return setting(&cli.StringFlag{
		Name: "backup", DefaultText: "no backups",
		Usage: "back up every hour to file:DIRECTORY or s3://BUCKET/PREFIX?region=…, where nothing else may be; with ?every=15m or " +
			"&every=15m at its end, as often; of PostgreSQL, only the files; see studiod restore",
	})
}

// openBackups opens the place of backups, if there is one. The database and the media must be open.
func (d *daemon) openBackups(ctx context.Context) (err error) {
	if d.cfg.Backup == "" {
		return nil
	}
	scratch := ""
	if path, ok := sqlitePath(d.cfg.Database); ok {
		scratch = path + ".backup"
	}
	d.backups, err = backup.Open(ctx, backup.Config{
		Place: d.cfg.Backup, Scratch: scratch,
		Store: d.store, Media: d.media, Keys: d.keys, Logger: d.cfg.Logger,
	})
	if err != nil {
		return commandline.Usage(fmt.Errorf("--backup: %w", err))
	}
	d.onClose(d.backups.Close)
	if d.keys == nil {
		d.cfg.Logger.WarnContext(ctx, "backups are not encrypted; set a key file")
	}
	if d.store.Shared() {
		d.cfg.Logger.InfoContext(ctx, "backups have the files only; back up the database with the tools of PostgreSQL")
	}
	d.metrics.WatchBackups(d.backups.Status)
	return nil
}

// restorePlace restores a backup by --backup.
func restorePlace(ctx context.Context, command *cli.Command, dsn, from string, keys *keyring.Keyring) (err error) {
	i := strings.LastIndexByte(from, '@')
	if i < 0 {
		return usagef("a place must end with @TIME, such as %s@latest", from)
	}
	restoration := backup.Restoration{Place: from[:i], At: from[i+1:], Database: dsn, Keys: keys, Now: time.Now}
	if restoration.Media, err = openFiles(ctx, command.String("media"), dsn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restoration.Media.Close()) }()
	restored, err := backup.Restore(ctx, restoration)
	if err != nil {
		return err
	}
	lines := []string{fmt.Sprintf("files restored as of %s: %d", formatTime(restored.Time), restored.Files)}
	if restored.Database {
		lines = append([]string{"the database is restored", lines[0]}, keyHint(ctx, keySourceOf(command), dsn, keys)...)
	} else {
		lines = append(lines, "restore the database with the tools of PostgreSQL, as it was then or earlier")
	}
	if restored.Skipped != "" {
		lines = append(lines, "skipped, because they are later than the clock of this machine: "+restored.Skipped)
	}
	err = printLines(command, lines...)
	if len(restored.Damaged) > 0 {
		err = errors.Join(err, fmt.Errorf("damaged files, which are not restored: %s", strings.Join(restored.Damaged, " ")))
	}
	return err
}

// keyFileBeside returns the path of the default key file of a SQLite database.
func keyFileBeside(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".keys" }
