package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	mediaKeyName    = "media"
	uploadPath      = "/v1/media"
	uploadOperation = "uploadMedia"
	// mediaGrace is the minimum age of a file before it is erased because no record refers to it.
	mediaGrace         = time.Hour
	mediaSweepInterval = time.Hour
	// mediaTimeout is how long a start with a new database waits for the bucket.
	mediaTimeout = 5 * time.Second
)

// publicURL returns the origin of the service. Its pages, files and links are at fixed paths of an origin, so a URL
// with another path would break them.
func publicURL(text string) (string, error) {
	u, err := weburl.Parse(text)
	switch {
	case text == "":
		return "", nil
	case err != nil:
		return "", err
	case u.RawQuery != "", u.ForceQuery, strings.Contains(text, "#"):
		return "", errors.New("must be only a scheme and a host, such as https://studio.example.com")
	case u.Path != "/":
		return "", errors.New("must have no path: give the service a host or port of its own")
	}
	return u.Scheme + "://" + u.Host, nil
}

func mediaFlag(defaultText string) cli.Flag {
	return setting(&cli.StringFlag{Name: "media", Usage: "storage of files: file:DIRECTORY or s3://BUCKET/PREFIX?region=…", DefaultText: defaultText})
}

// defaultMedia returns a directory beside a SQLite database, and otherwise one in the data directory.
func defaultMedia(database string) (string, error) {
	if path, ok := sqlitePath(database); ok {
		return "file:" + strings.TrimSuffix(path, filepath.Ext(path)) + "-media", nil
	}
	directory, err := dataDirectory()
	return "file:" + filepath.Join(directory, "media"), err
}

// openFiles opens the files of a database for a caller that signs no URLs. It makes nothing. The default bucket is "".
func openFiles(ctx context.Context, bucket, database string) (files *media.Store, err error) {
	if bucket == "" {
		if bucket, err = defaultMedia(database); err != nil {
			return nil, err
		}
	}
	files, err = media.Open(ctx, media.Config{Bucket: bucket, Key: newKey()})
	if err != nil {
		return nil, usagef("--media: %w", err)
	}
	return files, nil
}

// openMedia opens the bucket. The daemon's store and listener must be open.
func (d *daemon) openMedia(ctx context.Context) (err error) {
	cfg := media.Config{Bucket: d.cfg.Media}
	if cfg.Bucket == "" {
		if cfg.Bucket, err = defaultMedia(d.cfg.Database); err != nil {
			return err
		}
		if err := d.warnOfLocalFiles(ctx, cfg.Bucket); err != nil {
			return err
		}
	}
	if d.cfg.PublicURL == "" && d.listener != nil {
		d.cfg.PublicURL = d.url()
		if address, ok := d.listener.Addr().(*net.TCPAddr); ok && address.IP.IsUnspecified() {
			d.cfg.Logger.WarnContext(ctx, "only clients on this machine can open the URLs of files; set --public-url", "url", d.cfg.PublicURL)
		}
	}
	cfg.PublicURL, cfg.Places = d.cfg.PublicURL, d.store
	if cfg.Key, err = d.store.Key(ctx, mediaKeyName, newKey); err != nil {
		return err
	}
	if d.media, err = media.Open(ctx, cfg); err != nil {
		return usagef("--media: %w", err)
	}
	d.onClose(d.media.Close)
	return nil
}

// warnOfLocalFiles logs a warning if daemons run on other machines. They do not find files in a directory of this one.
func (d *daemon) warnOfLocalFiles(ctx context.Context, bucket string) error {
	daemons, err := d.store.Daemons(ctx)
	if slices.ContainsFunc(daemons, func(other store.Daemon) bool { return isAlive(other) && other.Host != d.host }) {
		d.cfg.Logger.WarnContext(ctx, "other daemons do not find files in this directory; set --media", "media", bucket)
	}
	return err
}

// sweepMedia periodically erases files that no record refers to.
func (d *daemon) sweepMedia(stop context.Context) {
	for ; stop.Err() == nil; studio.Pause(stop, mediaSweepInterval) {
		if err := d.media.Sweep(stop, mediaGrace, d.studio.MediaNeeded); err != nil && stop.Err() == nil {
			d.cfg.Logger.ErrorContext(stop, "deleting unused media failed", "err", err)
		}
	}
}
