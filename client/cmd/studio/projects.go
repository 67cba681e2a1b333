package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/commandline"
	"github.com/avatarstudio/avatarstudio/client"
)

func (p *program) projectsCommand() *cli.Command {
	return p.serviceLeaf("projects", "list the projects of a workspace, newest first", "", `  studio projects
  studio projects --workspace 01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10 --json`,
		[]cli.Flag{workspaceFlag()}, p.projects)
}

func (p *program) projects(ctx context.Context, command *cli.Command, c *client.Client) error {
	var response client.Response
	list, err := c.ListProjects(ctx, client.WithResponse(&response))
	if err != nil {
		return err
	}
	if command.Bool("json") {
		var documents struct {
			Data []json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(response.Body, &documents); err != nil {
			return err
		}
		for _, document := range documents.Data {
			if err := commandline.PrintJSON(p.Stdout, document); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tSTATUS\tLANGUAGE\tCREATED\tTITLE")
	for _, project := range list.Data {
		created := "-"
		if project.CreatedAt != nil {
			created = project.CreatedAt.Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", cell(project.ProjectID), cell(project.Status), cell(project.Language), created, title(project.Title))
	}
	return table.Flush()
}

// cell returns a text for a table, or "-" if it is missing.
func cell(text *string) string {
	if text == nil || *text == "" {
		return "-"
	}
	return printable(*text)
}
