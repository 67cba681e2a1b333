package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
)

// kinds are the kinds of bodies, from the least preferred to the most, and how an error calls them.
//
//nolint:gochecknoglobals // never changed
var kinds = []struct{ name, said string }{{"bodyStream", "bytes"}, {"bodyText", "text"}, {"bodyItems", "a stream of "}, {"bodyJSON", "JSON"}}

// kindOfMedia returns the index of the kind that bodies of a media type have.
func kindOfMedia(media string) int {
	switch {
	case isJSON(media):
		return 3
	case strings.HasPrefix(media, streamed):
		return 2
	case strings.HasPrefix(media, "text/"):
		return 1
	}
	return 0
}

// resultOf describes the result of the client method of an operation. If a response has several media types, JSON is
// preferred to streams, streams to text, and text to all others. If it has JSON of several Go types, application/json
// is preferred. A method returns bodies of one kind, and streams of one type.
func resultOf(d codegen.OperationDefinition) (result, error) {
	a := result{Kind: "bodyNone"}
	var media []string
	first, of := "", ""
	for _, response := range successes(d.Responses) {
		if response.StatusCode == notModified {
			a.NotModified, a.Empty = true, true
			continue
		}
		a.Empty, a.Redirect = a.Empty || len(response.Contents) == 0, a.Redirect || strings.HasPrefix(response.StatusCode, "3")
		if len(response.Contents) == 0 {
			continue
		}
		preferred := slices.MaxFunc(response.Contents, func(a, b codegen.ResponseContentDefinition) int {
			if order := kindOfMedia(a.ContentType) - kindOfMedia(b.ContentType); order != 0 || a.ContentType != mediaJSON {
				return order
			}
			return 1
		})
		kind := kindOfMedia(preferred.ContentType)
		said := kinds[kind].said
		for _, content := range response.Contents {
			if s := streamOf(d.Spec.Responses.Value(response.StatusCode).Value.Content, content.ContentType); s != nil {
				if content.ContentType == preferred.ContentType {
					said = kinds[kind].said + qualify(s.Type())
				}
				a.Streams = append(a.Streams, s)
				continue
			}
			isOther := kinds[kind].name == "bodyJSON" && content.Schema.TypeDecl() != preferred.Schema.TypeDecl()
			if kindOfMedia(content.ContentType) != kind || isOther {
				continue
			}
			media = append(media, content.ContentType)
			a.Empty = a.Empty || content.IsJSON() && isNull(content.Schema.OAPISchema)
		}
		if first != "" && said != first {
			return a, fmt.Errorf("the response %s is %s, and %s is %s: give them the same", of, first, response.StatusCode, said)
		}
		first, of, a.Kind = said, response.StatusCode, kinds[kind].name
		if a.Kind == "bodyJSON" {
			a.Each = append(a.Each, success{"JSON" + response.StatusCode, qualify(preferred.Schema.TypeDecl()), condition(response.StatusCode)})
		}
	}
	slices.SortStableFunc(a.Streams, func(a, b *itemStream) int { return cmp.Compare(a.Format, b.Format) }) // events first
	switch {
	case d.Method == http.MethodHead: // has no body
		a.Kind, a.Each, a.Streams = "bodyNone", nil, nil
	case a.Kind == "bodyItems":
		return a.ofStream(), nil
	}
	slices.Sort(media)
	a.Accept = strings.Join(append(slices.Compact(media), "application/problem+json"), ", ")
	for _, one := range a.Each {
		a.Whole = a.Whole || one.Type != a.Each[0].Type
		a.Type = a.Each[0].Type
		a.Slice = strings.HasPrefix(a.Type, "[") || strings.HasPrefix(a.Type, "map[")
	}
	return a, nil
}

// ofStream returns the result of a method that returns the items of the first stream.
func (r *result) ofStream() result {
	first := r.Streams[0]
	return result{
		Kind: "bodyItems", Type: qualify(first.Type()), Item: qualify(first.Item()), Streams: r.Streams, Accept: first.Media + ", application/problem+json",
	}
}

// isNull reports whether null is a value of a schema.
func isNull(schema *openapi3.Schema) bool {
	return schema != nil && (allowsNull(schema) || schema.Extensions["x-go-type"] == "json.RawMessage")
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

// successes returns the responses for which the method returns no error: 304, and 2xx, or else the default response, or
// else the redirects.
func successes(responses []codegen.ResponseDefinition) []codegen.ResponseDefinition {
	for _, wanted := range []string{"2", "default", "3"} {
		isWanted := func(r codegen.ResponseDefinition) bool { return strings.HasPrefix(r.StatusCode, wanted) }
		if slices.ContainsFunc(responses, isWanted) {
			return slices.DeleteFunc(slices.Clone(responses), func(r codegen.ResponseDefinition) bool {
				return !isWanted(r) && r.StatusCode != notModified
			})
		}
	}
	return nil
}

// errorClasses returns the error classes of package client for the documented statuses.
func errorClasses(responses map[string]*openapi3.ResponseRef) []string {
	known := map[string]string{
		"400": "ErrInvalid", "413": "ErrInvalid", "415": "ErrInvalid", "422": "ErrInvalid", "401": "ErrUnauthorized", "403": "ErrForbidden",
		"404": "ErrNotFound", "409": "ErrConflict", "429": "ErrRateLimited", "5": "ErrServer",
	}
	var classes []string
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		class := cmp.Or(known[status], known[status[:1]])
		if class != "" && !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	return classes
}
