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

// resultOf describes the result of the client method of an operation. If responses have several media types, JSON is
// preferred to streams, streams to text, and text to all others. If one response has JSON of several Go types,
// application/json is preferred.
func resultOf(d codegen.OperationDefinition) (result, error) {
	a := result{Kind: "bodyNone"}
	if err := sameKind(d); err != nil {
		return a, err
	}
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
		a.Empty, a.Redirect = a.Empty || len(response.Contents) == 0, a.Redirect || isRedirect(response.StatusCode)
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
	if d.Method == http.MethodHead { // has no body
		types, a.Streams = nil, nil
	}
	isText := func(m string) bool { return strings.HasPrefix(m, "text/") }
	switch {
	case d.Method == http.MethodHead:
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

// sameKind returns an error if the successes of an operation have bodies of several kinds, or streams of several types,
// of which a method can return only one.
func sameKind(d codegen.OperationDefinition) error {
	first, of := "", ""
	for _, response := range successes(d.Responses) {
		kind, found := "", 0
		for _, content := range response.Contents {
			s := streamOf(d.Spec.Responses.Value(response.StatusCode).Value.Content, content.ContentType)
			switch {
			case content.IsJSON():
				kind, found = "JSON", 4
			case s != nil && found < 3:
				items, err := s.Type()
				if err != nil {
					return err
				}
				kind, found = "a stream of "+items, 3
			case strings.HasPrefix(content.ContentType, "text/") && found < 2:
				kind, found = "text", 2
			case found < 1:
				kind, found = "bytes", 1
			}
		}
		switch {
		case kind == "":
		case first == "":
			first, of = kind, response.StatusCode
		case kind != first:
			return fmt.Errorf("the response %s is %s, and %s is %s: give them the same", of, first, response.StatusCode, kind)
		}
	}
	return nil
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

// successes returns the responses for which the method returns no error: 2xx and 304, and the default response or the
// redirects if there is no 2xx.
func successes(responses []codegen.ResponseDefinition) []codegen.ResponseDefinition {
	var chosen, other, redirects []codegen.ResponseDefinition
	explicit := false
	for _, r := range responses {
		switch {
		case strings.HasPrefix(r.StatusCode, "2"):
			chosen, explicit = append(chosen, r), true
		case r.StatusCode == notModified:
			chosen = append(chosen, r)
		case r.StatusCode == "default":
			other = append(other, r)
		case isRedirect(r.StatusCode):
			redirects = append(redirects, r)
		}
	}
	switch {
	case explicit:
	case len(other) > 0:
		chosen = append(chosen, other...)
	case len(chosen) == 0:
		chosen = redirects
	}
	return chosen
}

func isRedirect(status string) bool { return strings.HasPrefix(status, "3") && status != notModified }

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
