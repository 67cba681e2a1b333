package main

import (
	"bytes"
	"encoding/json"
)

// What an element has for people only, what contains values of its own, and the elements that are maps, whose keys are
// names.
const (
	forPeople = "summary description example examples externalDocs x-interface"
	values    = "const default enum"
	keyed     = `callbacks content dependentRequired dependentSchemas encoding headers links mapping parameters pathItems paths
		patternProperties properties requestBodies responses schemas scopes securitySchemes variables webhooks $defs`
)

// serverDocument returns a document in JSON without what the server does not need, which is more than half of it. The
// server loads it at each start.
func serverDocument(document []byte) []byte {
	var whole any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	check(decoder.Decode(&whole))
	forServer(whole, "", false)
	return must(json.MarshalIndent(whole, "", "")) // long lines would hide what a search finds in other files
}

// forServer removes what is for people from a value. isMap is true if its keys are names. in is the map that contains
// the value, or "". The description of a response, which must have one, is empty.
func forServer(value any, in string, isMap bool) {
	elements, _ := value.([]any)
	for _, element := range elements {
		forServer(element, "", false)
	}
	members, _ := value.(map[string]any)
	for name, member := range members {
		switch {
		case isMap:
			forServer(member, in, false)
		case hasWord(forPeople, name) && in == "responses" && name == "description":
			members[name] = ""
		case hasWord(forPeople, name):
			delete(members, name)
		case hasWord(keyed, name):
			forServer(member, name, true)
		case !hasWord(values, name):
			forServer(member, "", false)
		}
	}
}
