package main

import (
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// topics returns the pages of the guide, which "studiod help" and "studiod man" print.
func topics() (all []*cli.Command) {
	for _, page := range guide.Pages() {
		all = append(all, commandline.Topic(page.Name, page.Summary, page.Text()))
	}
	return all
}
