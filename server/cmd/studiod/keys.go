package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
)

// keysVariable is the environment variable that may hold the keys instead of a file.
const keysVariable = "STUDIO_KEYS"

func keyFileCommand() *cli.Command {
	return &cli.Command{
		Name: "keyfile", Usage: "rotate the key that encrypts secrets in the database, or go on without a lost one",
		Commands: []*cli.Command{described(leaf("rotate", "encrypt all secrets with a new key, also while daemons are running", "", []cli.Flag{
			&cli.BoolFlag{Name: "existing", Usage: "use the first key of the key file instead of a new key"},
		}, recorded(rotateKey)),
			`The command adds the new key as the first line of the key file. Daemons with this file read it again when they
need the new key. The old keys must stay in the file: the files that a place of backups has need them, also in later
backups. Sessions stay valid. If daemons have copies of the file, insert a line from "openssl rand -base64 32" at
the top of each copy, and then run:
studiod keyfile rotate --existing

Example: studiod keyfile rotate`), resetKeyCommand()},
	}
}

func keyFileFlag() cli.Flag {
	return setting(&cli.StringFlag{
		Name: "key-file", Usage: "file of the keys that encrypt secrets in the database, which the first start creates; alternatively, set " + keysVariable + " to its content",
		DefaultText: "next to a SQLite database",
	})
}

// keySource is the location of the keys of a database.
type keySource struct {
	File    string // defaults to a file beside a SQLite database
	Content string // from the environment; has precedence over the default file
}

func keySourceOf(command *cli.Command) keySource {
	return keySource{command.String("key-file"), os.Getenv(keysVariable)}
}

// open returns the keys of a database, or nil if there are none. If no file exists yet, it also returns the
// path at which to create one. A database that is to be restored does not exist although its key file may.
func (s keySource) open(dsn string, restored bool) (keys *keyring.Keyring, file string, err error) {
	path, beside := sqlitePath(dsn)
	switch {
	case s.File != "":
		keys, err = keyring.Load(s.File)
	case s.Content != "":
		keys, err = keyring.Parse(s.Content)
	case beside:
		file = keyFileBeside(path)
		keys, err = keyring.Load(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, file, nil
		}
		if info, statErr := os.Stat(path); !restored && (errors.Is(statErr, fs.ErrNotExist) || statErr == nil && info.Size() == 0) {
			return nil, "", fmt.Errorf("database %s is missing or empty, although its key file %s exists; "+
				"delete an empty file and restore a backup, or move the key file to start without data", path, file)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", usagef("key file: %w; studiod serve creates it for a new database; if it is lost, see studiod keyfile reset --help", err)
	}
	if err != nil {
		return nil, "", usagef("key file: %w", err)
	}
	return keys, "", nil
}

// follows reports whether keys were read from the file beside a database, which is created after the tables: a database
// without tables was deleted, emptied, or copied without its write-ahead log.
func (s keySource) follows(keys *keyring.Keyring) bool { return keys != nil && s == keySource{} }

// lacks says where a key of a database is missing.
func (s keySource) lacks(dsn string) string {
	file := s.File
	if path, beside := sqlitePath(dsn); file == "" && s.Content != "" {
		return "it is not in " + keysVariable
	} else if file == "" && beside {
		file = keyFileBeside(path)
	}
	if file == "" {
		return "there is no key file"
	}
	if path, err := filepath.Abs(file); err == nil {
		file = path
	}
	if !exists(file) {
		return "there is no key file " + file
	}
	return "it is not in " + file
}

// openSecrets checks that the keys belong to the database, and encrypts secrets that are stored as plain
// text. It writes a file for new keys before it uses them.
func (d *daemon) openSecrets(ctx context.Context, file string) error {
	if _, err := d.store.Keys(ctx); err != nil {
		return d.cfg.Keys.explain(err, d.cfg.Database)
	}
	if file != "" {
		if err := d.keys.Create(file); err != nil {
			return fmt.Errorf("key file: %w", err)
		}
		d.cfg.Logger.InfoContext(ctx, "key file created; keep a copy, in another place than backups of the database", "file", file)
	}
	if d.keys == nil {
		d.cfg.Logger.WarnContext(ctx, "secrets in the database are not encrypted; set a key file")
		return nil
	}
	if exposed := d.keys.OpenToOthers(); exposed != "" {
		d.cfg.Logger.WarnContext(ctx, "every user of this machine can read the key file; run chmod 600", "file", exposed)
	}
	sealed, err := d.store.Seal(ctx, false)
	if sealed > 0 {
		d.cfg.Logger.InfoContext(ctx, "secrets encrypted", "count", sealed, "key", d.keys.IDs()[0])
	}
	return d.cfg.Keys.explain(err, d.cfg.Database)
}

// explain returns an error that explains how to provide the missing key of a database.
func (s keySource) explain(err error, dsn string) error {
	if errors.Is(err, keyring.ErrNoKey) {
		return usagef("%w: %s; set --key-file to the file with this key, or see studiod keyfile reset --help if it is lost", err, s.lacks(dsn))
	}
	return err
}

func rotateKey(ctx context.Context, command *cli.Command) error {
	return withStore(ctx, command, store.Config{MustExist: true}, func(db *store.Store, keys *keyring.Keyring) error {
		if keys == nil {
			return usagef("the database has no key file; studiod serve creates one or uses --key-file")
		}
		if _, err := db.Keys(ctx); err != nil {
			return err
		}
		if !command.Bool("existing") {
			if err := keys.Rotate(); err != nil {
				return fmt.Errorf("key file: %w", err)
			}
		}
		n, err := db.Seal(ctx, true)
		if err != nil {
			return err
		}
		return printLines(command, fmt.Sprintf("secrets encrypted with the key %s: %d", keys.IDs()[0], n),
			"keep a new copy of the key file: later backups need it")
	})
}
