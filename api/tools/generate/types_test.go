package main

import (
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// The settings and templates have paths relative to the root of the module.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400) // each document has its own code, which is garbage soon
	os.Exit(m.Run())
}

var oneAtATime sync.Mutex // oapi-codegen has global state

// generated generates code from a document. paths and components are in YAML.
func generated(t *testing.T, paths, components string) (files, error) {
	t.Helper()
	if !strings.Contains(paths, "\ncomponents:\n") {
		paths += "\ncomponents:"
	}
	text := "openapi: 3.1.1\ninfo: {title: t, version: '1'}\npaths:\n" + paths + "\n  schemas:\n" + components + "\n"
	if !strings.Contains(components, "    Event:") {
		text += "    Event: { type: object, required: [event_type, data], properties: { event_type: { $ref: '#/components/schemas/EventType' }, data: {} } }\n"
	}
	if !strings.Contains(text, "EventType:") {
		text += "    EventType: { type: string }\n"
	}
	return generatedFrom(t, text)
}
