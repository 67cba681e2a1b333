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
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
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

// path returns the file, or that to which a symbolic link in its place leads, which a logout deletes: the link stays.
// It does not follow a link to anything else, such as a device, because commands replace and delete what is at path.
func (c credentials) path() string {
	path := filepath.Join(c.directory, credentialsName)
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if target, err = os.Readlink(path); err == nil && !filepath.IsAbs(target) {
			var directory string
			directory, err = filepath.EvalSymlinks(c.directory) // whose parent is that of the link
			target = filepath.Join(directory, target)
		}
	}
	if info, missing := os.Lstat(target); err != nil || missing == nil && !info.Mode().IsRegular() {
		return path
	}
	return target
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

// storedTokens is a [client.TokenSource] with the stored access token, which it renews when the service
// rejects it. Using a refresh token twice ends the session, so only one command renews at a time. Commands
// that waited use the new tokens.
type storedTokens struct {
	file credentials
	api  *client.Client

	mu     sync.Mutex
	stored login
}

var _ client.TokenSource = (*storedTokens)(nil)

// Token implements [client.TokenSource]. A renewal does not end with ctx, because its response must be
// stored.
func (t *storedTokens) Token(ctx context.Context, rejected client.Credential) (client.Credential, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if string(rejected) != t.stored.AccessToken {
		return client.Credential(t.stored.AccessToken), nil
	}
	unlock, err := t.file.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("waiting for another studio command: %w", err)
	}
	defer unlock()
	now, err := t.file.load()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case err != nil || now.BaseURL != t.stored.BaseURL || now.Email != t.stored.Email:
		return "", errLogin
	case now.AccessToken == string(rejected) && now.RefreshToken == "":
		return "", fmt.Errorf("the API key has expired or was revoked: %w", errLogin)
	case now.AccessToken == string(rejected):
		if err := t.file.save(now); err != nil { // the next tokens could not be stored, and the session would be lost
			return "", err
		}
		pair, err := t.renew(context.WithoutCancel(ctx), now.RefreshToken)
		if err != nil {
			return "", err
		}
		now.AccessToken, now.RefreshToken = pair.AccessToken, pair.RefreshToken
		if err := t.file.save(now); err != nil {
			return "", err
		}
	}
	t.stored = now
	return client.Credential(now.AccessToken), nil
}

func (t *storedTokens) renew(ctx context.Context, refresh string) (*gen.TokenPair, error) {
	pair, err := t.api.RefreshTokens(ctx, gen.RefreshRequest{RefreshToken: refresh})
	if errors.Is(err, client.ErrUnauthorized) {
		err = fmt.Errorf("the login has expired: %w", errLogin)
	}
	return pairOf(pair, err)
}

// pairOf refuses a response without tokens, such as that of another service, so that it replaces no stored ones.
func pairOf(pair *gen.TokenPair, err error) (*gen.TokenPair, error) {
	if err == nil && (pair.AccessToken == "" || pair.RefreshToken == "") {
		err = errors.New("the response of the service has no tokens")
	}
	return pair, err
}
