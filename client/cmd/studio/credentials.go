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

// login is the content of the credentials file. A refresh token works once, so every renewal rewrites the
// file.
type login struct {
	BaseURL      string `json:"base_url"`
	Email        string `json:"email"`
	Workspace    string `json:"workspace,omitempty"`
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
}

// credentials accesses the credentials file in a directory. A caller that reads and then writes the file
// must hold the lock.
type credentials struct{ directory string }

func (c credentials) path() string { return filepath.Join(c.directory, credentialsName) }

// load returns the stored login, or fs.ErrNotExist if there is none. It refuses a file that other users
// can read.
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

// save replaces the file atomically, so that no reader sees a part of it.
func (c credentials) save(kept login) (err error) {
	data, err := json.MarshalIndent(kept, "", "  ") //nolint:gosec // only the user can read the file
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(c.directory, credentialsName+".*") // has mode 0600
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

// lock creates the directory and waits until no other command is changing the credentials file.
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
