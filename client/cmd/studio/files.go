package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
)

func downloadFlags(k kind) []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "file to write; - is the standard output", Required: true},
		&cli.BoolFlag{Name: "force", Usage: "overwrite an existing file"},
	}
	if k.thumbnail != nil {
		flags = append(flags, &cli.BoolFlag{Name: "thumbnail", Usage: "download the thumbnail instead of the video"})
	}
	return flags
}

// download writes the main file of a record, or its thumbnail.
func (p *program) download(ctx context.Context, command *cli.Command, c *client.Client, k kind) error {
	file := k.main(command.Args().First())
	if command.Bool("thumbnail") {
		file = k.thumbnail(command.Args().First())
	}
	name := command.String("output")
	bar := p.newBar("downloading " + filepath.Base(name))
	defer bar.end()
	var size int64
	progress := client.WithProgress(func(done, total int64) {
		size = done
		bar.show(done, total)
	})
	if name == "-" {
		return c.Download(ctx, file, p.Stdout, progress)
	}
	switch info, err := os.Stat(name); {
	case name == "":
		return usagef("--output must not be empty")
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return usagef("%s is not a file; use - for the standard output", name)
	case !command.Bool("force"):
		return usagef("%s already exists; use --force to overwrite it", name)
	}
	if err := c.DownloadFile(ctx, file, name, progress); err != nil {
		if _, missing := os.Stat(name + ".part"); missing == nil {
			return fmt.Errorf("%w (repeat the command to resume the download; the partial file is %s.part)", err, name)
		}
		return err
	}
	if !command.Bool("json") {
		return nil
	}
	return commandline.PrintJSON(p.Stdout, map[string]any{"file": name, "size": size})
}

// uploadTimeout limits the upload of a file.
const uploadTimeout = 30 * time.Minute

// fileFlag is a pair of flags: name is the file to upload, and url is its URL after the upload.
type fileFlag struct{ name, url string }

// uploadFlag uploads the file of a flag, if the flag is set, and sets the flag for the URL.
func (p *program) uploadFlag(ctx context.Context, c *client.Client, command *cli.Command, flag fileFlag) error {
	path := command.String(flag.name)
	if path == "" {
		return nil
	}
	if command.String(flag.url) != "" {
		return usagef("use either --%s or --%s", flag.name, flag.url)
	}
	mediaType := mediaTypeOf(path)
	if mediaType == "" {
		return usagef("--%s must be a video, an image or an audio file with a known extension", flag.name)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return usagef("--%s is an empty file", flag.name)
	}
	bar := p.newBar("uploading " + filepath.Base(path))
	media, err := c.UploadMedia(ctx, mediaType, file, client.WithTimeout(uploadTimeout), client.WithProgress(bar.show))
	bar.end()
	if err != nil {
		return fmt.Errorf("uploading %s: %w", commandline.Printable(filepath.Base(path)), err)
	}
	return command.Set(flag.url, media.URL)
}

// mediaTypes has the types of common extensions, so that they do not depend on the machine.
//
//nolint:gochecknoglobals // a table
var mediaTypes = map[string]string{
	".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm", ".mkv": "video/x-matroska",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".flac": "audio/flac",
	".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg",
}

// mediaTypeOf returns the media type for the extension of a file, or "" if it is no video, image or audio file.
func mediaTypeOf(path string) string {
	extension := strings.ToLower(filepath.Ext(path))
	known, _, _ := mime.ParseMediaType(cmp.Or(mediaTypes[extension], mime.TypeByExtension(extension)))
	switch kind, _, _ := strings.Cut(known, "/"); kind {
	case "video", "image", "audio":
		return known
	}
	return ""
}

const (
	// clearLine begins a line that replaces the one before, and uncut ends it. Between them, a terminal cuts what is
	// too long: if it wrapped that, only the last row would be replaced.
	clearLine = "\r\x1b[K\x1b[?7l"
	uncut     = "\x1b[?7h"
	barWidth  = 20
	// barPause is the shortest time between two updates of a bar.
	barPause = 100 * time.Millisecond
)

// bar is a progress bar for an upload or download, on one line of a terminal.
type bar struct {
	out   io.Writer // nil without a terminal
	what  string
	shown time.Time // last update
}

// newBar returns the bar of an upload or download. It writes to Stderr, because Stdout has the output of the command.
func (p *program) newBar(what string) *bar {
	b := &bar{what: commandline.Printable(what)}
	if p.StderrTerminal {
		b.out = p.Stderr
	}
	return b
}

// show redraws the bar. It is a callback of [client.WithProgress].
func (b *bar) show(done, total int64) {
	if b.out == nil || time.Since(b.shown) < barPause && done != total {
		return
	}
	b.shown = time.Now()
	line := megabytes(done)
	if total > 0 {
		line = fmt.Sprintf("%s %s of %s", barText(done, total), line, megabytes(total))
	}
	_, _ = io.WriteString(b.out, clearLine+line+" "+b.what+uncut)
}

// end ends the line of the bar.
func (b *bar) end() {
	if !b.shown.IsZero() {
		_, _ = fmt.Fprintln(b.out)
	}
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// barText returns a bar with its percentage.
func barText(done, total int64) string {
	done = min(max(done, 0), total)
	full := int(barWidth * done / total)
	return fmt.Sprintf("[%s%s] %3d %%", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), 100*done/total)
}
