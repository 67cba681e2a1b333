package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// login is the content of the credentials file. A refresh token can be used only once, so every renewal
// rewrites the file.
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

// path returns the file, or that to which a symbolic link in its place leads: the link stays, and no tokens do.
func (c credentials) path() string {
	path := filepath.Join(c.directory, credentialsName)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// load returns the stored login, or fs.ErrNotExist if there is none. It returns an error if other users can
// access the file.
func (c credentials) load() (stored login, err error) {
	if c.directory == "" {
		return stored, fs.ErrNotExist
	}
	info, err := os.Stat(c.path())
	var data []byte
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || info.Size() > maxCredentials: // to read a pipe could take forever
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		err = fmt.Errorf("other users can access %s; change its mode to 0600, or log in again", c.path())
	default:
		data, err = os.ReadFile(c.path())
	}
	if err != nil {
		return stored, err
	}
	if json.Unmarshal(data, &stored) != nil || stored.BaseURL == "" {
		return login{}, fmt.Errorf("%s does not contain a login; log in again", c.path())
	}
	return stored, nil
}

// save replaces the file atomically, so that no reader sees an incomplete file.
func (c credentials) save(stored login) (err error) {
	data, err := json.MarshalIndent(stored, "", "  ") //nolint:gosec // only the user can read the file
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(c.path()), credentialsName+".*") // has mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(append(data, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), c.path())
}

// lock creates the directory and waits until no other command is changing the credentials file.
func (c credentials) lock(ctx context.Context) (unlock func(), err error) {
	if c.directory == "" {
		return nil, errors.New("unknown configuration directory; set HOME, or XDG_CONFIG_HOME to an absolute path")
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
