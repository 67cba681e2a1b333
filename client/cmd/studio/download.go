package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
