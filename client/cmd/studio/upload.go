package main

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
)

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
