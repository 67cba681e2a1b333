package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// resultOf describes the result of the client method of an operation. If responses have several media types, JSON is
// preferred to streams, streams to text, and text to all others. If one response has JSON of several Go types, application/json is preferred.
func resultOf(d codegen.OperationDefinition) (result, error) {
	a := result{Kind: "bodyNone"}
	for _, response := range successes(d.Responses) {
		a.addStreams(d, response)
	}
	types := map[string]bool{}
	var media []string
	var each []success
	for _, response := range successes(d.Responses) {
		if response.StatusCode == notModified {
			a.NotModified, a.Empty = true, true
			continue
		}
		a.Empty = a.Empty || len(response.Contents) == 0
		chosen := ""
		for _, content := range response.Contents {
			if content.IsJSON() && (chosen == "" || content.ContentType == mediaJSON) {
				chosen = content.Schema.TypeDecl()
			}
		}
		for _, content := range response.Contents {
			if content.IsJSON() && content.Schema.TypeDecl() != chosen || strings.HasPrefix(content.ContentType, streamed) {
				continue
			}
			media = append(media, withoutSuffix(content.ContentType))
			a.Empty = a.Empty || content.IsJSON() && isNull(content.Schema.OAPISchema)
		}
		if chosen != "" {
			types[chosen] = true
			each = append(each, success{"JSON" + response.StatusCode, chosen, condition(response.StatusCode)})
		}
	}
	isText := func(m string) bool { return strings.HasPrefix(m, "text/") }
	switch {
	case len(types) > 0:
		a.Kind = "bodyJSON"
		media = slices.DeleteFunc(media, func(m string) bool { return !isJSON(m) })
	case len(a.Streams) > 0:
		return a.ofStream(), nil
	case len(media) > 0 && slices.ContainsFunc(media, isText):
		a.Kind = "bodyText"
		media = slices.DeleteFunc(media, func(m string) bool { return !isText(m) })
	case len(media) > 0:
		a.Kind = "bodyStream"
	}
	slices.Sort(media)
	a.Accept = strings.Join(append(slices.Compact(media), "application/problem+json"), ", ")
	if len(types) == 0 {
		return a, nil
	}
	if a.Whole = len(types) > 1; a.Whole {
		for i := range each {
			qualified, err := qualify(each[i].Type)
			if err != nil {
				return a, err
			}
			each[i].Type = qualified
		}
		a.Each = each
	}
	declared := slices.Sorted(maps.Keys(types))[0]
	a.Slice = strings.HasPrefix(declared, "[") || strings.HasPrefix(declared, "map[")
	var err error
	a.Type, err = qualify(declared)
	return a, err
}

// addStreams adds the streams of a response. Those that can be resumed are first.
func (r *result) addStreams(d codegen.OperationDefinition, response codegen.ResponseDefinition) {
	for _, content := range response.Contents {
		if s := streamOf(d.Spec.Responses.Value(response.StatusCode).Value.Content, content.ContentType); s != nil {
			r.Streams = append(r.Streams, s)
		}
	}
	slices.SortStableFunc(r.Streams, func(a, b *itemStream) int { return cmp.Compare(a.Format, b.Format) }) // events first
}

// ofStream returns the result of a method that returns the items of the first stream.
func (r *result) ofStream() result {
	return result{Kind: "bodyItems", Streams: r.Streams, Accept: r.Streams[0].Media + ", application/problem+json"}
}

// isNull reports whether null is a value of a schema.
func isNull(schema *openapi3.Schema) bool {
	return schema != nil && (schema.Type.IncludesNull() || schema.Extensions["x-go-type"] == "json.RawMessage")
}

const notModified = "304"

// condition returns the Go expression for whether response has a status, which may be a range or default.
func condition(status string) string {
	switch {
	case status == "default":
		return "true"
	case strings.HasSuffix(status, "XX"):
		return "response.StatusCode/100 == " + status[:1]
	}
	return "response.StatusCode == " + status
}

// successes returns the responses for which the method returns no error: 2xx and 304, and the default
// response if there is no 2xx.
func successes(responses []codegen.ResponseDefinition) []codegen.ResponseDefinition {
	var chosen, other []codegen.ResponseDefinition
	explicit := false
	for _, r := range responses {
		switch {
		case strings.HasPrefix(r.StatusCode, "2"):
			chosen, explicit = append(chosen, r), true
		case r.StatusCode == notModified:
			chosen = append(chosen, r)
		case r.StatusCode == "default":
			other = append(other, r)
		}
	}
	if !explicit {
		chosen = append(chosen, other...)
	}
	return chosen
}

// errorClasses returns the error classes of package client for the documented statuses.
func errorClasses(responses map[string]*openapi3.ResponseRef) []string {
	var classes []string
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		class := ""
		switch status {
		case "400", "413", "415", "422":
			class = "ErrInvalid"
		case "401":
			class = "ErrUnauthorized"
		case "403":
			class = "ErrForbidden"
		case "404":
			class = "ErrNotFound"
		case "409":
			class = "ErrConflict"
		case "429":
			class = "ErrRateLimited"
		default:
			if strings.HasPrefix(status, "5") {
				class = "ErrServer"
			}
		}
		if class != "" && !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	return classes
}
