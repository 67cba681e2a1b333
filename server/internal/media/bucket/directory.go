package bucket

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/regularfile"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	filePrefix = "file:"
	// Temporary is the extension of the files that are being written, which a killed process leaves.
	Temporary = ".tmp"
)

// Directory is a directory. Only its owner has access to the files that it writes.
type Directory struct {
	dir string
}

var _ Bucket = Directory{}

func openDirectory(dir string) (Directory, error) {
	if dir == "" || strings.HasPrefix(dir, "//") {
		return Directory{}, ErrLocation
	}
	dir, err := filepath.Abs(dir)
	return Directory{dir}, err
}

// Path returns the path of the directory.
func (d Directory) Path() string { return d.dir }

// Resolve returns the directory without symbolic links in its path. It may not exist yet.
func (d Directory) Resolve() Directory {
	if dir, err := filepath.EvalSymlinks(d.dir); err == nil {
		return Directory{dir}
	}
	if parent := filepath.Dir(d.dir); parent != d.dir {
		return Directory{Directory{parent}.Resolve().join(filepath.Base(d.dir))}
	}
	return d
}

// Location implements [Bucket].
func (d Directory) Location() string {
	return filePrefix + strings.TrimSuffix(d.dir, string(filepath.Separator)) + string(filepath.Separator)
}

// Close implements [Bucket].
func (Directory) Close() error { return nil }

// URL implements [Bucket].
func (Directory) URL(context.Context, string, time.Duration) (string, error) {
	return "", errors.ErrUnsupported
}

func (d Directory) join(key string) string { return filepath.Join(d.dir, filepath.FromSlash(key)) }

// Open implements [Bucket]. It follows no symbolic link in the directory, because that may lead to any file, and does
// not wait for the writer of a pipe.
func (d Directory) Open(_ context.Context, key string) (_ File, err error) {
	defer func() {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			err = studio.ErrNotFound
		}
	}()
	name, err := filepath.Localize(key)
	if err != nil {
		return File{}, studio.ErrNotFound
	}
	content, err := openFile(d.dir, name)
	if err != nil {
		return File{}, err
	}
	info, err := content.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = studio.ErrNotFound
	}
	if err != nil {
		return File{}, errors.Join(err, content.Close())
	}
	return File{content, info.Size(), info.ModTime()}, nil
}

// openFile opens a file after it has looked for a link in each part of its name. The root prevents that one which comes
// afterwards leads out of the directory.
func openFile(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	parts := strings.Split(name, string(filepath.Separator))
	for i := range parts {
		if info, err := root.Lstat(filepath.Join(parts[:i+1]...)); err != nil || info.Mode()&os.ModeSymlink != 0 {
			return nil, cmp.Or[error](err, studio.ErrNotFound)
		}
	}
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Write implements [Bucket]. The file survives a power failure, as the rows of the database do.
func (d Directory) Write(ctx context.Context, key, _ string, content io.Reader) (err error) {
	local, err := filepath.Localize(key)
	if err != nil {
		return err
	}
	name := filepath.Join(d.dir, local)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*"+Temporary) // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // Clean or the caller of List erases what is left
			d.removeParent(key)
		}
	}()
	_, err = io.Copy(file, content)
	if err = errors.Join(err, ctx.Err(), file.Close()); err != nil {
		return err
	}
	return regularfile.Rename(file.Name(), name)
}

// Delete implements [Bucket].
func (d Directory) Delete(_ context.Context, key string) error {
	err := os.Remove(d.join(key))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	d.removeParent(key)
	return err
}

// removeParent removes the directory of a key if it is empty.
func (d Directory) removeParent(key string) {
	if strings.Contains(key, "/") {
		_ = os.Remove(d.join(path.Dir(key))) // fails if the directory is not empty
	}
}

// List implements [Bucket]. It fails if a directory cannot be read, which is not an empty one.
func (d Directory) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		folder, _ := path.Split(prefix)
		err := filepath.WalkDir(d.join(folder), func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // deleted in the meantime
				return nil
			case entry != nil && entry.IsDir() && entry.Name() == "lost+found": // of the file system
				return fs.SkipDir
			case ctx.Err() != nil || err != nil:
				return cmp.Or(ctx.Err(), err)
			case entry.IsDir():
				return nil
			}
			local, err := filepath.Rel(d.dir, name)
			key := filepath.ToSlash(local)
			if err != nil || !strings.HasPrefix(key, prefix) {
				return err
			}
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if !yield(Object{key, info.Size(), info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Object{}, err)
		}
	}
}

// Clean implements [Bucket]. It removes empty directories. List returns temporary files.
func (d Directory) Clean(_ context.Context, before time.Time, needed func(key string) (bool, error)) error {
	keys, err := fs.Glob(os.DirFS(d.dir), "*/*")
	for _, key := range keys {
		name := d.join(key)
		if info, err := os.Lstat(name); err != nil || !info.IsDir() || !info.ModTime().Before(before) {
			continue
		}
		if entries, err := os.ReadDir(name); err != nil || len(entries) > 0 {
			continue
		}
		keep, err := needed(key + "/")
		if err != nil {
			return err
		}
		if !keep {
			_ = os.Remove(name) // fails if the directory is no longer empty
		}
	}
	return err
}
