package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) projectCommand() *cli.Command {
	return group("project", "list the projects of a workspace, and share their videos", example("project", "list"),
		p.serviceLeaf("list", "list the projects of a workspace, newest first", "",
			example("project", "list --status published --tag onboarding\n  studio project list --workspace 01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10 --json"),
			[]cli.Flag{
				workspaceFlag(""),
				&cli.StringFlag{Name: "status", Usage: "list only projects with this status, such as published"},
				&cli.StringFlag{Name: "tag", Usage: "list only projects with this tag"},
				&cli.StringFlag{Name: "title", Usage: "list only projects whose title contains this text, in any case"},
			}, p.listProjects),
		p.serviceLeaf("share", "print a link at which everyone can watch the video of a project", "ID", example("project", "share ID\n  studio project share --off ID"),
			[]cli.Flag{&cli.BoolFlag{Name: "off", Usage: "stop sharing; the link does not work any more"}}, p.shareProject))
}

func (p *program) listProjects(ctx context.Context, command *cli.Command, c *client.Client) error {
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	params := client.ListProjectsParams{Title: flagValue[gen.TitleFilter](command, "title")}
	if err := sendInto(ctx, c, listOf((*client.Client).ListProjects, params), &list); err != nil {
		return err
	}
	table := p.table(command, "ID", "STATUS", "LANGUAGE", "CREATED", "TITLE")
	for _, document := range list.Data {
		var project gen.Project
		_ = json.Unmarshal(document, &project) // what cannot be read is left out, as the client does
		if !isListed(&project, command.String("status"), command.String("tag")) {
			continue
		}
		_ = table.Add(document, // Flush returns write errors
			gen.Or(project.ProjectID, ""), gen.Or(project.Status, ""), gen.Or(project.Language, ""), stamp(project.CreatedAt), title(project.Title))
	}
	return table.Flush()
}

// isListed reports whether a project has a status, in any case, and a tag. An empty one is not required.
func isListed(project *gen.Project, status, tag string) bool {
	if status != "" && (project.Status == nil || !strings.EqualFold(*project.Status, status)) {
		return false
	}
	return tag == "" || project.Tags != nil && project.Tags.Names != nil && slices.Contains(*project.Tags.Names, tag)
}

// shareProject prints the link of a project, or nothing with --off.
func (p *program) shareProject(ctx context.Context, command *cli.Command, c *client.Client) error {
	project, err := c.UpdateProject(ctx, gen.UpdateProjectRequest{ProjectID: command.Args().First(), Shared: new(!command.Bool("off"))})
	switch {
	case err != nil:
		return err
	case command.Bool("json"):
		return commandline.PrintJSON(p.Stdout, project)
	case project.SmartURL != nil && !command.Bool("off"):
		_, err = fmt.Fprintln(p.Stdout, commandline.Printable(*project.SmartURL))
	}
	return err
}
