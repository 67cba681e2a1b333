package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api"
)

// Each list of the document has a command, which sends each parameter of the list if its flag is set.
func TestLists_haveAFlagForEachParameter(t *testing.T) {
	t.Parallel()
	document := try(openapi3.NewLoader().LoadFromData(api.Spec))(t)
	var sent atomic.Pointer[http.Request]
	p := answering(t, func(r *http.Request) string {
		sent.Store(r)
		return `{"data":[],"size":0,"unpublished_projects":0}`
	})
	lists := map[string]bool{}
	for _, command := range p.lists(p.rootCommand(), nil) {
		p.must(t, "", command...)
		request := sent.Load()
		operation := document.Paths.Value(request.URL.Path).GetOperation(request.Method)
		lists[operation.OperationID] = true
		for _, reference := range operation.Parameters {
			parameter := reference.Value
			if parameter.Name == "cursor" || parameter.Name == "X-Request-Id" { // the client sends them
				continue
			}
			flag := "--" + flagOf(parameter.Name) + "=" + valueOf(parameter.Schema.Value)
			if code, _, stderr := p.run(t, "", append(command, flag)...); code != exitOK {
				t.Errorf("client/cmd/studio: studio %s lacks the flag %s for the parameter %s: %s", strings.Join(command, " "), flag, parameter.Name, stderr)
			} else if request := sent.Load(); cmp.Or(request.FormValue(parameter.Name), request.Header.Get(parameter.Name)) == "" {
				t.Errorf("client/cmd/studio: studio %s %s does not send %s", strings.Join(command, " "), flag, parameter.Name)
			}
		}
	}
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if strings.HasPrefix(operation.OperationID, "list") && !lists[operation.OperationID] {
				t.Errorf("client/cmd/studio: no command calls %s", operation.OperationID)
			}
		}
	}
}

// lists returns the commands that print lists.
func (p *program) lists(command *cli.Command, path []string) (all [][]string) {
	if command.Name == "list" || command.Name == "events" {
		return [][]string{path}
	}
	for _, child := range command.Commands {
		all = append(all, p.lists(child, append(slices.Clip(path), child.Name))...)
	}
	return all
}

// flagOf returns the flag for a parameter, which has fewer words, because the name of the command has the others.
func flagOf(parameter string) string {
	switch parameter {
	case "x-workspace-id":
		return "workspace"
	case "event_type":
		return "type"
	case "event_id":
		return "id"
	default:
		return strings.TrimSuffix(parameter, "_id")
	}
}

func valueOf(schema *openapi3.Schema) string {
	switch {
	case len(schema.Enum) > 0:
		return fmt.Sprint(schema.Enum[0])
	case schema.Type.Is("boolean"):
		return "true"
	case schema.Type.Is("integer"):
		return "7"
	case schema.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	default:
		return "en"
	}
}
