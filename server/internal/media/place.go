package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Mark is the key of the file by which a place is known, and which names its owner. It is not listed.
const Mark = "installation"

const (
	filesOf = "files of " // begins a Mark, so that the backups of the same installation are no media
	// filesOfAny is a Mark without an owner.
	filesOfAny = "studiod keeps files here. While this file is missing, it takes the disk for unmounted."
	// askTimeout bounds the requests to an object store that does not answer at the start.
	askTimeout = 5 * time.Second
)

// Errors of places.
var (
	// ErrGone means that a place has no [Mark] although it had one, as after its disk was unmounted.
	ErrGone = errors.New("the place has no regular file named " + Mark + " although it had one: mount its disk, or create the file empty to begin there again")
	// ErrOther means that the [Mark] of a place has another owner.
	ErrOther = errors.New("the place is another installation's or has another use, as its file named " + Mark +
		" says: set another place or database, or make the file empty to begin there again, which erases what is there")
)

// Places remembers the places in which there are files of an installation.
type Places interface {
	// InstallationID returns the id of the installation.
	InstallationID(ctx context.Context) (string, error)
	// AddPlace adds the place with a name. It may be known.
	AddPlace(ctx context.Context, name string) error
	// KnowsPlace reports whether a place was added.
	KnowsPlace(ctx context.Context, name string) (bool, error)
}

// An Owner returns the content that a [Mark] with a content must get, and "" if it can stay. It is called with "" if
// there is none. The error is [ErrOther] if the Mark has another owner.
type Owner func(mark string) (string, error)

// FilesOf returns the Owner of the files of an installation. That of "" takes no place of an installation.
func FilesOf(installation string) Owner {
	owner := filesOf + installation
	if installation == "" {
		owner = filesOfAny
	}
	return func(mark string) (string, error) {
		switch mark {
		case owner:
			return "", nil
		case "", filesOfAny:
			return owner, nil
		}
		return "", ErrOther
	}
}

// Name identifies the bucket. That of a directory is the same on all machines and in all containers, which share it:
// one that is new must not take a disk that is not mounted there for a new directory.
func (s *Store) Name() string { return s.name }

// Take makes the place that of an owner, if it has no other one. The error is [ErrGone] if its [Mark] is missing
// although the place is known. Later calls fail when the place is gone or gets another owner; in an object store, Sweep
// and CheckWritable notice that. Take must not be called concurrently with others.
func (s *Store) Take(ctx context.Context, known bool, owner Owner) error {
	s.owner = owner
	return s.take(ctx, known)
}

func (s *Store) take(ctx context.Context, known bool) error {
	mark, err := s.ReadText(ctx, Mark)
	if errors.Is(err, studio.ErrNotFound) {
		if err = nil; known {
			err = ErrGone
		}
	}
	if err == nil {
		mark, err = s.owner(mark)
	}
	if err == nil && mark != "" {
		err = s.Write(ctx, Mark, strings.NewReader(mark))
	}
	s.taken.Store(err == nil && s.dir == "")
	if err != nil {
		err = fmt.Errorf("%s: %w", s.cfg.Bucket, err)
	}
	return err
}

// checkMark returns the error of a place that is no longer its owner's, unless key is Mark.
func (s *Store) checkMark(ctx context.Context, key string) error {
	if key == Mark || s.owner == nil || s.taken.Load() {
		return nil
	}
	return s.take(ctx, s.dir != "")
}

// ReadText returns the text in a small file, without the space around it.
func (s *Store) ReadText(ctx context.Context, key string) (string, error) {
	file, err := s.Open(ctx, key)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, 1<<10))
	return strings.TrimSpace(string(content)), errors.Join(err, file.Close())
}
