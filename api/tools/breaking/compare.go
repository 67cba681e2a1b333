package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"
)

// finding is a breaking change.
type finding struct {
	operation string // "POST /users/login" or "webhook avatar_event"
	rule      string // id of the check of oasdiff
	text      string
	callback  bool // the change is in a callback of the operation
}

// compare returns the breaking changes between two documents: those that oasdiff finds, with our severities, and
// those that our own rules find.
func compare(before, after []byte) ([]finding, error) {
	from, err := loadDocument(before)
	if err != nil {
		return nil, fmt.Errorf("earlier document: %w", err)
	}
	to, err := loadDocument(after)
	if err != nil {
		return nil, err
	}
	breaks := compareOperations(from.Spec, to.Spec)
	report, sources, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), from, to)
	if err != nil {
		return nil, err
	}
	config := checker.NewConfig(checker.GetAllChecks(), checker.WithSeverityLevels(severities()))
	for _, change := range checker.CheckBackwardCompatibility(config, report, sources) {
		b := finding{
			operation: operationName(change.GetOperation(), change.GetPath()), rule: change.GetId(),
			text: change.GetUncolorizedText(checker.NewDefaultLocalizer()), callback: strings.HasPrefix(change.GetPath(), callbackPath),
		}
		if change.IsBreaking() && !slices.Contains(breaks, b) { // an operation and its parameters are removed once
			breaks = append(breaks, b)
		}
	}
	return slices.DeleteFunc(breaks, func(b finding) bool {
		isWebhook := func(other finding) bool {
			return strings.HasPrefix(other.operation, "webhook ") && other.rule == b.rule && other.text == b.text
		}
		return b.callback && slices.ContainsFunc(breaks, isWebhook) // to which the callback refers
	}), nil
}

// The paths of the operations that stand for webhooks, callbacks, and the parameters of an operation. The name of what
// they stand for is the next line.
const (
	webhookPath    = "/webhook\n"
	callbackPath   = "/callback\n"
	parametersPath = "/parameters\n"
)

func operationName(method, path string) string {
	if lines := strings.Split(path, "\n"); len(lines) > 1 {
		return lines[1]
	}
	return method + " " + path
}

func loadDocument(content []byte) (*load.SpecInfo, error) {
	lowered, err := lower(content)
	if err != nil {
		return nil, err
	}
	document, err := openapi3.NewLoader().LoadFromData(lowered)
	if err != nil {
		return nil, err
	}
	document.Paths = cmp.Or(document.Paths, openapi3.NewPaths()) // the document may have webhooks only
	document.Components = cmp.Or(document.Components, new(openapi3.Components))
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			for name, callback := range operation.Callbacks {
				for expression, item := range callback.Value.Map() { // whose braces are not those of a path
					expression = strings.NewReplacer("{", "(", "}", ")").Replace(expression)
					addNotifications(document, callbackPath+operationName(method, path)+"\n"+name+" "+expression, item)
				}
			}
			operation.Callbacks = nil
			for _, shared := range item.Parameters {
				if operation.Parameters.GetByInAndName(shared.Value.In, shared.Value.Name) == nil {
					operation.Parameters = append(operation.Parameters, shared)
				}
			}
			document.Paths.Set(parametersPath+operationName(method, path), asRequest(parametersOf(path, operation)))
			operation.Parameters = nil
		}
		item.Parameters = nil
	}
	for event, item := range document.Webhooks {
		addNotifications(document, webhookPath+"webhook "+event, item)
	}
	document.Webhooks = nil
	seen := make(map[any]bool) // components and webhooks are shared
	var contents []openapi3.Content
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if body := operation.RequestBody; body != nil {
				contents = append(contents, body.Value.Content)
			}
			for _, response := range operation.Responses.Map() {
				if !seen[response.Value] {
					response.Value.Content, response.Value.Headers = withHeaders(response.Value), nil
					contents, seen[response.Value] = append(contents, response.Value.Content), true
				}
			}
		}
	}
	for _, content := range contents { // whose fields have been read
		wrap(content, seen)
	}
	for _, name := range slices.Sorted(maps.Keys(document.Components.Schemas)) {
		openItems(document.Components.Schemas[name].Value)
	}
	return &load.SpecInfo{Spec: document}, nil
}

// openItems hides that an array consists of itself, for which oasdiff would print a type without end.
func openItems(array *openapi3.Schema) {
	seen := make(map[*openapi3.Schema]bool)
	for array != nil && array.Items != nil { // a component may be empty
		seen[array] = true
		if seen[array.Items.Value] {
			array.Items = (&openapi3.Schema{AllOf: openapi3.SchemaRefs{array.Items}}).NewRef()
		}
		array = array.Items.Value
	}
}

// addNotifications adds the operations of a webhook or callback as paths, and the responses to them.
func addNotifications(document *openapi3.T, path string, item *openapi3.PathItem) {
	for method, operation := range item.Operations() {
		at := path + "\n" + method
		document.Paths.Set(at, asResponse(operation, slices.Concat(item.Parameters, operation.Parameters)))
		for status, response := range operation.Responses.Map() {
			document.Paths.Set(at+"\n"+status, asRequest(response.Value.Content))
		}
	}
}

// asResponse converts a webhook or callback to an operation whose response is the notification, with its query and
// headers, so that oasdiff treats the notification as output of the service.
func asResponse(operation *openapi3.Operation, parameters openapi3.Parameters) *openapi3.PathItem {
	all := newParts()
	for _, parameter := range parameters {
		p := *parameter.Value
		p.Required = p.Required || p.In == openapi3.ParameterInHeader // which the service always sends
		all.add(&p)
	}
	var body openapi3.Content
	if operation.RequestBody != nil {
		body = operation.RequestBody.Value.Content
	}
	notification := openapi3.NewResponse().WithDescription("The notification.").WithContent(all.content("header", body))
	return &openapi3.PathItem{Get: &openapi3.Operation{
		Security:  openapi3.NewSecurityRequirements(),
		Responses: openapi3.NewResponses(openapi3.WithStatus(http.StatusOK, &openapi3.ResponseRef{Value: notification})),
	}}
}

// asRequest converts what the service accepts, such as a response to a webhook, to an operation whose request it is.
func asRequest(content openapi3.Content) *openapi3.PathItem {
	return &openapi3.PathItem{Post: &openapi3.Operation{
		Security:    openapi3.NewSecurityRequirements(),
		RequestBody: &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithContent(content)},
		Responses:   openapi3.NewResponses(),
	}}
}
