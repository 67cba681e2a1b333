package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// What only people read is left out. Names and values that look like it stay.
func TestServerDocument_keepsWhatTheServerNeeds(t *testing.T) {
	t.Parallel()
	text := serverDocument([]byte(`{"info": {"title": "T", "description": "D"},
		"paths": {"/description": {"summary": "S", "get": {"description": "D", "x-interface": "1", "responses": {
			"default": {"description": "D", "headers": {"summary": {"example": "E"}}}}}}},
		"components": {"examples": {"A": {"value": 1}}, "responses": {"examples": {"description": "D"}}, "schemas": {"summary": {
			"description": "D", "examples": [1], "required": ["description"], "dependentRequired": {"example": ["summary"]},
			"properties": {"description": {"description": "D", "const": {"description": "D"}}, "default": {"description": "D", "minLength": 1},
				"items": {"default": {"examples": 1}, "enum": [{"summary": 1}], "oneOf": [{"description": "D", "maximum": 1.50}]}}}}}}`))
	got := strings.ReplaceAll(string(text), "\n", "")
	const want = `{"components": {"responses": {"examples": {"description": ""}},"schemas": {"summary": {` +
		`"dependentRequired": {"example": ["summary"]},` +
		`"properties": {"default": {"minLength": 1},"description": {"const": {"description": "D"}},` +
		`"items": {"default": {"examples": 1},"enum": [{"summary": 1}],"oneOf": [{"maximum": 1.50}]}},"required": ["description"]}}},` +
		`"info": {"title": "T"},"paths": {"/description": {"get": {"responses": {` +
		`"default": {"description": "","headers": {"summary": {}}}}}}}}`
	if got != want || !json.Valid(text) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
