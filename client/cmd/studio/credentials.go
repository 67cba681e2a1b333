package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

const (
	credentialsName = "credentials.json"
	maxCredentials  = 64 << 10
	lockInterval    = 20 * time.Millisecond
)

// login is what "studio login" keeps. The refresh token works once, so the file changes with every
// renewal.
type login struct {
	BaseURL      string `json:"base_url"`
	Email        string `json:"email"`
	Workspace    string `json:"workspace,omitempty"`
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
}

// credentials is the file of the login. What reads and then writes it holds the lock.
type credentials struct{ directory string }

func (c credentials) path() string { return filepath.Join(c.directory, credentialsName) }

// load returns the login. The error is fs.ErrNotExist when there is none. A file that others can
// read is refused.
func (c credentials) load() (kept login, err error) {
	if c.directory == "" {
		return kept, fs.ErrNotExist
	}
	file, err := os.Open(c.path())
	if err != nil {
		return kept, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return kept, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return kept, fmt.Errorf("%s is open to other users: change its mode to 0600, or log in again", c.path())
	}
	data, err := io.ReadAll(io.LimitReader(file, maxCredentials))
	if err != nil {
		return kept, err
	}
	if json.Unmarshal(data, &kept) != nil || kept.BaseURL == "" {
		return login{}, fmt.Errorf("%s is not a login; log in again", c.path())
	}
	return kept, nil
}

// save replaces the file at once, so that nobody reads half of it.
func (c credentials) save(kept login) (err error) {
	data, err := json.MarshalIndent(kept, "", "  ") //nolint:gosec // the file is for the user alone
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(c.directory, credentialsName+".*") // with the mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(append(data, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), c.path())
}

func (c credentials) remove() error {
	err := os.Remove(c.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lock waits until no other command renews or replaces the login. It makes the directory.
func (c credentials) lock(ctx context.Context) (unlock func(), err error) {
	if c.directory == "" {
		return nil, errors.New("there is no directory for settings: set HOME")
	}
	if err := os.MkdirAll(c.directory, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(c.path()+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockInterval); err != nil {
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}
