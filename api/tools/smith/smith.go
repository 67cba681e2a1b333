// Package smith writes documents at random, from the grammar of api/tools/generate and from outside of it, for tests.
package smith

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"
)

type members = map[string]any

// Smith writes documents at random.
type Smith struct {
	*rand.Rand
	paths      members
	components map[string]members  // by group
	objects    []string            // the components that hold objects
	events     []string            // the types of events
	uses       map[string][]string // by operation
	used       []string            // by the operation that is being written
	count      int
	decks      map[string][]int // by name, of the numbers that deal has not returned
}

// New returns a smith, which writes the same document for the same seed.
func New(seed uint64) *Smith {
	s := &Smith{Rand: rand.New(rand.NewPCG(seed, 45)), paths: members{}, components: map[string]members{}, uses: map[string][]string{}, decks: map[string][]int{}}
	for _, group := range []string{"schemas", "parameters", "headers", "requestBodies", "responses"} {
		s.components[group] = members{}
	}
	return s
}

// Insert adds operations, components and webhooks to a document, and returns it in JSON.
func (s *Smith) Insert(document []byte, operations int) ([]byte, error) {
	s.write(operations)
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	var whole members
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	whole["openapi"] = "3.2.0"
	maps.Copy(within(whole, "paths"), s.paths)
	components := within(whole, "components")
	for group, all := range s.components {
		maps.Copy(within(components, group), all)
	}
	for _, name := range s.events {
		s.insertEvent(whole, name)
	}
	return json.MarshalIndent(whole, "", " ")
}

func within(object members, name string) members {
	if object[name] == nil {
		object[name] = members{}
	}
	return object[name].(members)
}

// insertEvent adds a webhook and its event, whose data is a component, to all lists of events.
func (s *Smith) insertEvent(whole members, name string) {
	schemas := within(within(whole, "components"), "schemas")
	schema := name + "-envelope"
	schemas[schema] = members{"type": "object", "required": []any{"event_type", "data"}, "properties": members{
		"event_type": members{"type": "string", "const": name}, "data": ref(name + "-data"),
	}}
	within(whole, "webhooks")[name] = members{"post": members{
		"operationId": name, "summary": name,
		"requestBody": members{"required": true, "content": members{"application/json": members{"schema": ref(schema)}}},
		"responses":   members{"200": members{"description": "d"}},
	}}
	types, all := within(schemas, "EventType"), within(schemas, "Event")
	listed, _ := types["enum"].([]any)
	types["enum"] = append(listed, name)
	if list, ok := all["oneOf"].([]any); ok {
		all["oneOf"] = append(list, ref(schema))
		within(within(all, "discriminator"), "mapping")[name] = ref(schema)["$ref"]
	}
}

// Events returns the types of the events.
func (s *Smith) Events() []string { return s.events }

// Uses returns the parts of the grammar that each operation has, by its operationId.
func (s *Smith) Uses() map[string][]string { return s.uses }

// use notes that the operation that is being written has a part of the grammar.
func (s *Smith) use(part string) {
	if !slices.Contains(Grammar, part) {
		panic(part + " is missing in the grammar")
	}
	if !slices.Contains(s.used, part) {
		s.used = append(s.used, part)
	}
}

// as notes that the operation has a part, and returns its description.
func (s *Smith) as(part string, described members) members {
	s.use(part)
	return described
}

// write makes the operations and schemas, once.
func (s *Smith) write(operations int) {
	if len(s.paths) > 0 {
		return
	}
	for range 6 {
		s.component(pick(s, "Thing", "a-thing", "x.y", "thing_", "URL"), 2)
	}
	for range 2 {
		s.event()
	}
	for len(s.paths) < operations {
		s.operation()
	}
}

// event makes the data of an event of a webhook.
func (s *Smith) event() {
	name := fmt.Sprintf("smith%d_event", len(s.events))
	s.components["schemas"][name+"-data"] = []func(int) members{s.object, s.union}[s.deal("event data", 2)](2)
	s.events = append(s.events, name)
}

func (s *Smith) chance(percent int) bool { return s.IntN(100) < percent }

func pick[T any](s *Smith, of ...T) T { return of[s.IntN(len(of))] }

// deal returns a number below n, each of them once before any again, so that a short document has all kinds.
func (s *Smith) deal(deck string, n int) int {
	if len(s.decks[deck]) == 0 {
		s.decks[deck] = s.Perm(n)
	}
	next := s.decks[deck][0]
	s.decks[deck] = s.decks[deck][1:]
	return next
}

// name returns a name in any script that no other part of the document has, also in Go.
func (s *Smith) name() string {
	s.count++
	word := pick(s, "put", "名前", "größe", "данные", "type", "a b", "x-y", "a.b", "url", "naïve", "func", "日", "über-uns", "Ω", "ID", "x_y", "string", "err", "body", "ऄ", "שם", "style", "response", "result", "ctx")
	if strings.ContainsFunc(word, func(r rune) bool { return r > 0x7f }) {
		s.use("names of any script")
	}
	return word + fmt.Sprint(s.count)
}

// token returns a name in ASCII.
func (s *Smith) token() string {
	s.count++
	return fmt.Sprintf("X-Smith-%d", s.count)
}

// maybeComponent moves a value to a group of components, sometimes, and returns a reference.
func (s *Smith) maybeComponent(group string, value members) members {
	if !s.chance(15) {
		return value
	}
	s.use("components/" + group)
	name := s.token()
	s.components[group][name] = value
	return members{"$ref": "#/components/" + group + "/" + name}
}

func ref(name string) members { return members{"$ref": "#/components/schemas/" + name} }
