package keyring

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"

	"github.com/avatarstudio/avatarstudio/server/internal/regularfile"
)

const heading = `# The keys that encrypt what is secret in the database of studiod. The first encrypts.
# Keep this file apart from backups of the database, which cannot be read without it.
`

// Load reads the keys from a file in the format of [Parse]. If a key is missing later, [Keyring.Open] reads the
// file again, so that a process finds the key that another process has added by [Keyring.Rotate].
func Load(path string) (*Keyring, error) {
	text, err := regularfile.Read(path)
	if err != nil {
		return nil, err
	}
	k, err := Parse(string(text))
	if err == nil {
		k.path = path
	}
	return k, err
}

// New returns a keyring with a single new key. [Keyring.Create] writes it to a file.
func New() *Keyring {
	k, err := Parse(heading + NewKey() + "\n")
	if err != nil {
		panic(err) // the format is valid
	}
	return k
}

// OpenToOthers returns the path of the key file if all users of the machine can read or write it. Otherwise,
// or if there is no file, it returns "".
func (k *Keyring) OpenToOthers() (file string) {
	const others = 0o007
	info, err := os.Stat(k.path)
	if err != nil || runtime.GOOS == "windows" || info.Mode()&others == 0 {
		return ""
	}
	return k.path
}

// Create writes the keys to a new file that only its owner can read. If the file exists, the error is
// fs.ErrExist.
func (k *Keyring) Create(path string) error {
	if err := create(path, k.text); err != nil {
		return err
	}
	if err := regularfile.SyncDirectory(filepath.Dir(path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	k.path = path
	return nil
}

// Rotate adds a new first key, also to the file, which it replaces atomically. The older keys remain. Values are
// not encrypted again; see store.Store.Seal. If the keyring has no file, Rotate returns an error.
func (k *Keyring) Rotate() (err error) {
	if k.path == "" {
		return errors.New("the keys are not in a file")
	}
	// Without the lock, a concurrent rotation could replace the file by one without the new key.
	lock := flock.New(k.path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	regularfile.Share(k.path+".lock", k.path)
	text, err := regularfile.Read(k.path)
	if err != nil {
		return err
	}
	_ = os.Remove(k.path + ".new") // left by an interrupted rotation
	if err := create(k.path+".new", heading+NewKey()+"\n"+strings.TrimPrefix(string(text), heading)); err != nil {
		return err
	}
	if err := regularfile.Rename(k.path+".new", k.path); err != nil {
		return err
	}
	return k.reload()
}

// reload reads the file.
func (k *Keyring) reload() error {
	text, err := regularfile.Read(k.path)
	if err != nil {
		return err
	}
	keys, err := parse(string(text))
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = keys
	return nil
}

// create writes a new file, which survives a power failure when its directory is synced.
func create(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
