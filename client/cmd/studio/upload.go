package main

import (
	"context"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
)

// uploadTimeout is how long the upload of a file may take.
const uploadTimeout = 30 * time.Minute

// fileFlag is a flag that names a file, and the one that takes its URL once it is uploaded.
type fileFlag struct{ name, url string }

// uploadFlag uploads the file that a flag names, if it names one, and sets the flag of the URL.
func (p *program) uploadFlag(ctx context.Context, c *client.Client, command *cli.Command, flag fileFlag) error {
	path := command.String(flag.name)
	if path == "" {
		return nil
	}
	if command.String(flag.url) != "" {
		return usagef("give either --%s or --%s", flag.name, flag.url)
	}
	mediaType := mediaTypeOf(path)
	if mediaType == "" {
		return usagef("--%s must be a video, a picture or a sound, with an extension that says which", flag.name)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	bar := &uploadBar{content: file, size: info.Size(), name: filepath.Base(path), out: p.Stderr}
	media, err := c.UploadMedia(ctx, mediaType, bar, client.WithTimeout(uploadTimeout))
	bar.end()
	if err != nil {
		return fmt.Errorf("uploading %s: %w", printable(bar.name), err)
	}
	return command.Set(flag.url, media.URL)
}

// mediaTypeOf knows a file by its extension, on every machine alike.
func mediaTypeOf(path string) string {
	extension := strings.ToLower(filepath.Ext(path))
	switch extension {
	case ".mp4", ".m4v":
		return "video/mp4"
	case ".mov":
		return "video/quicktime"
	case ".webm":
		return "video/webm"
	case ".mkv":
		return "video/x-matroska"
	case ".wav":
		return "audio/wav"
	case ".mp3":
		return "audio/mpeg"
	case ".m4a":
		return "audio/mp4"
	case ".ogg", ".oga", ".opus":
		return "audio/ogg"
	case ".flac":
		return "audio/flac"
	}
	known, _, _ := mime.ParseMediaType(mime.TypeByExtension(extension))
	switch kind, _, _ := strings.Cut(known, "/"); kind {
	case "video", "image", "audio":
		return known
	default:
		return ""
	}
}

// uploadBar shows how much of a file has been read, each time that is a tenth more.
type uploadBar struct {
	content    io.Reader
	read, size int64
	shown      int64
	name       string
	out        io.Writer
}

func (b *uploadBar) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	b.read += int64(n)
	if b.size > 0 {
		if tenths := 10 * b.read / b.size; tenths > b.shown {
			b.shown = tenths
			_, _ = fmt.Fprintf(b.out, "\ruploading %s %3d %%", printable(b.name), 10*tenths)
		}
	}
	return n, err
}

func (b *uploadBar) end() {
	if b.shown > 0 {
		_, _ = fmt.Fprintln(b.out)
	}
}
