package main

import (
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

// isJSON reports whether bodies of a media type are JSON.
func isJSON(media string) bool {
	media, _, _ = mime.ParseMediaType(media)
	return strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
}

// jsonTypes returns the JSON media types of a body. application/json is the first.
func jsonTypes(content openapi3.Content) []string {
	names := slices.Sorted(maps.Keys(content))
	names = slices.DeleteFunc(names, func(media string) bool { return media == mediaJSON || !isJSON(media) })
	if content[mediaJSON] != nil {
		return append([]string{mediaJSON}, names...)
	}
	return names
}

// jsonOf returns the description of the first JSON media type of a body, or nil.
func jsonOf(content openapi3.Content) *openapi3.MediaType {
	for _, media := range jsonTypes(content) {
		return content[media]
	}
	return nil
}
