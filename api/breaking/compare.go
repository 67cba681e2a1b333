package main

import (
	"fmt"
	"net/http"
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
}

// compare returns the breaking changes between two documents.
func compare(before, after []byte) ([]finding, error) {
	from, err := loadDocument(before)
	if err != nil {
		return nil, fmt.Errorf("earlier document: %w", err)
	}
	to, err := loadDocument(after)
	if err != nil {
		return nil, err
	}
	report, sources, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), from, to)
	if err != nil {
		return nil, err
	}
	config := checker.NewConfig(checker.GetAllChecks())
	var breaks []finding
	for _, change := range checker.CheckBackwardCompatibility(config, report, sources) {
		if !change.IsBreaking() {
			continue
		}
		operation := change.GetOperation() + " " + change.GetPath()
		if event, ok := strings.CutPrefix(change.GetPath(), webhookPath); ok {
			operation = "webhook " + event
		}
		breaks = append(breaks, finding{
			operation: operation, rule: change.GetId(),
			text: change.GetUncolorizedText(checker.NewDefaultLocalizer()),
		})
	}
	return breaks, nil
}

const webhookPath = "/webhook:"

func loadDocument(content []byte) (*load.SpecInfo, error) {
	document, err := openapi3.NewLoader().LoadFromData(content)
	if err != nil {
		return nil, err
	}
	for event, item := range document.Webhooks {
		document.Paths.Set(webhookPath+event, asResponse(item))
	}
	document.Webhooks = nil
	return &load.SpecInfo{Spec: document}, nil
}

// asResponse converts a webhook to an operation whose response is the notification, so that oasdiff treats the
// notification as output of the service.
func asResponse(item *openapi3.PathItem) *openapi3.PathItem {
	operation := item.Post
	notification := openapi3.NewResponse().WithDescription("The notification.")
	if operation.RequestBody != nil {
		notification.Content = operation.RequestBody.Value.Content
	}
	notification.Headers = make(openapi3.Headers)
	for _, parameter := range operation.Parameters {
		if parameter.Value.In == openapi3.ParameterInHeader {
			header := &openapi3.Header{Parameter: *parameter.Value}
			header.Required = true // the service always sends it, although the document does not require it
			notification.Headers[parameter.Value.Name] = &openapi3.HeaderRef{Value: header}
		}
	}
	return &openapi3.PathItem{Get: &openapi3.Operation{
		OperationID: operation.OperationID,
		Responses: openapi3.NewResponses(
			openapi3.WithStatus(http.StatusOK, &openapi3.ResponseRef{Value: notification})),
	}}
}
