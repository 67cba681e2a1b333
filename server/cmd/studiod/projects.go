package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// maxImportBytes is the maximum size of an imported file, which is held in memory.
const maxImportBytes = 256 << 20

func projectCommand() *cli.Command {
	return &cli.Command{
		Name: "project", Usage: "import projects, and stop the sharing of videos",
		Commands: []*cli.Command{
			leaf("import", "import a JSON file in the format of GET /projects/v2, all of it or nothing; - is stdin", "FILE",
				[]cli.Flag{&cli.StringFlag{Name: "workspace", Usage: "id of the workspace for the projects", Required: true}},
				recorded(onStudio(importProjects))),
			described(leaf("unshare", "stop the sharing of a video of any user, whose link ends at once on all daemons", "LINK_OR_ID", nil, onStudio(unshareProject)),
				`The user can share the video again, with another link, unless you also disable the user.

Example: studiod project unshare https://studio.example.com/share/01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10.q9x2`),
		},
	}
}

func importProjects(ctx context.Context, command *cli.Command, service *studio.Service) error {
	data, err := readImport(command)
	if err != nil {
		return err
	}
	projects, err := parseProjects(data, command.String("workspace"))
	if err != nil {
		return err
	}
	index, err := service.ImportProjects(ctx, projects)
	switch {
	case errors.Is(err, studio.ErrExists):
		return usagef("/data/%d: a project with this project_id already exists", index)
	case err != nil:
		return explain(err, "workspace")
	}
	return printLines(command, fmt.Sprint("imported projects: ", len(projects)))
}

func unshareProject(ctx context.Context, command *cli.Command, service *studio.Service) error {
	_, err := service.Unshare(ctx, studio.User{Email: byCommand}, command.Args().First())
	return explain(err, "shared video")
}

func readImport(command *cli.Command) ([]byte, error) {
	in := command.Root().Reader
	if name := command.Args().First(); name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, commandline.Usage(err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxImportBytes+1))
	if err != nil {
		return nil, commandline.Usage(err)
	}
	if len(data) > maxImportBytes {
		return nil, usagef("the file is larger than %d bytes", maxImportBytes)
	}
	return data, nil
}

// parseProjects reads {"data": [project …]} and validates every project against the document. Errors name the place,
// and contain nothing of the input.
func parseProjects(data []byte, workspaceID string) (projects []studio.Project, err error) {
	validator, err := validate.Load(api.Spec, validate.Config{})
	if err != nil {
		return nil, err
	}
	schema, _ := validator.Schema("Project")
	var list struct {
		Data []jsontext.Value `json:"data"`
	}
	err = json.Unmarshal(data, &list)
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		line := 1 + bytes.Count(data[:min(int(syntax.ByteOffset), len(data))], []byte("\n"))
		return nil, usagef("line %d: invalid JSON, or a duplicate name", line)
	}
	if err != nil || list.Data == nil {
		return nil, usagef(`not a project list: {"data": [...]}`)
	}
	for i, value := range list.Data {
		project, pointer, err := parseProject(schema, value)
		if err != nil {
			return nil, usagef("/data/%d%s %w", i, pointer, err)
		}
		project.WorkspaceID = workspaceID
		projects = append(projects, project)
	}
	return projects, nil
}

// parseProject validates and decodes one project. If it is invalid, pointer is the JSON pointer of the invalid member.
func parseProject(schema *validate.Schema, value jsontext.Value) (p studio.Project, pointer string, err error) {
	if err := schema.Validate(value); err != nil {
		if invalid := (*validate.Error)(nil); errors.As(err, &invalid) && len(invalid.Violations) > 0 {
			violation := invalid.Violations[0]
			return p, violation.Pointer, errors.New(violation.Detail)
		}
		return p, "", err
	}
	var fields gen.Project
	if err := json.Unmarshal(value, &fields); err != nil {
		return p, "", errors.New("cannot be decoded")
	}
	if fields.ProjectID == nil {
		return p, "", errors.New("has no project_id")
	}
	document, err := withTimes(value, map[string]*time.Time{"created_at": fields.CreatedAt, "updated_at": fields.UpdatedAt})
	if err != nil {
		return p, "", err
	}
	p = studio.Project{ID: strings.ToLower(*fields.ProjectID), Document: string(document)}
	if fields.UserID != nil {
		p.UserID = strings.ToLower(*fields.UserID)
	}
	if fields.CreatedAt != nil {
		p.CreatedAt = fields.CreatedAt.UTC()
	}
	p.Published = fields.Status != nil && studio.IsPublished(*fields.Status)
	return p, "", nil
}

// withTimes returns a project without white space, and with times in UTC. All other members are unchanged.
func withTimes(project jsontext.Value, times map[string]*time.Time) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(project, &members); err != nil {
		return nil, err
	}
	for name, at := range times {
		if at != nil {
			members[name] = jsontext.Value(strconv.Quote(at.UTC().Format(time.RFC3339Nano)))
		}
	}
	return json.Marshal(members, json.Deterministic(true), jsontext.PreserveRawStrings(true))
}
