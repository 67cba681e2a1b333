package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Mark is the key of the file by which a directory is known. It is not listed.
const Mark = "installation"

const markText = "studiod keeps files here. While this file is missing, it takes the disk for unmounted.\n"

// ErrGone means that a directory has no [Mark] although it had one, as after its disk was unmounted.
var ErrGone = errors.New("the place has no file named " + Mark + " although it had one: mount its disk, or create the file empty to begin there again")

// Places remembers the places in which there are files.
type Places interface {
	// AddPlace adds the place with a name. It may be known.
	AddPlace(ctx context.Context, name string) error
	// KnowsPlace reports whether a place was added.
	KnowsPlace(ctx context.Context, name string) (bool, error)
}

// Name identifies the bucket. That of a directory is the same on all machines and in all containers, which share it:
// one that is new must not take a disk that is not mounted there for a new directory.
func (s *Store) Name() string { return s.name }

// Guard makes all calls fail with [ErrGone] while a directory lacks its [Mark], except those for this key. It does
// nothing for object stores. It must be called before all others.
func (s *Store) Guard() { s.guarded = s.dir != "" }

// checkMark returns ErrGone if the directory is guarded and is gone, and key is not Mark.
func (s *Store) checkMark(key string) error {
	if !s.guarded || key == Mark {
		return nil
	}
	_, err := os.Lstat(filepath.Join(s.dir, Mark))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w", s.dir, ErrGone)
	}
	return err
}

// WriteMark writes the [Mark] of a directory that has none.
func (s *Store) WriteMark(ctx context.Context) error {
	if s.dir == "" {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(s.dir, Mark)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.Write(ctx, Mark, strings.NewReader(markText))
}
