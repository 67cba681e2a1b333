package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// scope is the dynamic scope of JSON Schema: for each $dynamicAnchor, the schema with that anchor in the
// outermost resource. The scope is known when a schema is compiled, so that a $dynamicRef becomes an ordinary
// reference. The nil scope is empty.
type scope struct {
	dynamic map[string]*document.Node
	text    string
	events  bool // whether the schema describes server-sent events, whose data has a contentSchema that is enforced
}

func (s *scope) key() string {
	if s == nil {
		return ""
	}
	return s.text
}

// enter returns the scope inside a resource, by its $dynamicAnchors.
func (s *scope) enter(anchors map[string]*document.Node) *scope {
	var dynamic map[string]*document.Node
	for name, target := range anchors {
		if s != nil && s.dynamic[name] != nil {
			continue
		}
		if dynamic == nil {
			dynamic = make(map[string]*document.Node)
			if s != nil {
				maps.Copy(dynamic, s.dynamic)
			}
		}
		dynamic[name] = target
	}
	if dynamic == nil {
		return s
	}
	inner := &scope{dynamic: dynamic, events: s != nil && s.events}
	if inner.events {
		inner.text = "events "
	}
	for _, name := range slices.Sorted(maps.Keys(dynamic)) {
		inner.text += fmt.Sprintf("%s=%p ", name, dynamic[name])
	}
	return inner
}

// inContent returns the scope of the text of a string.
func (s *scope) inContent() *scope {
	return &scope{dynamic: s.dynamic, text: strings.TrimPrefix(s.text, "events ")}
}

// dynamicTarget returns the target of a $dynamicRef.
func (c *Compiler) dynamicTarget(s *scope, ref *document.Node) *document.Node {
	target := c.Target(ref)
	anchor := target.Get("$dynamicAnchor")
	if anchor == nil || !strings.HasSuffix(ref.Text, "#"+anchor.Text) || s == nil || s.dynamic[anchor.Text] == nil {
		return target
	}
	return s.dynamic[anchor.Text]
}

// contentSchema compiles the schema of JSON in the strings of server-sent events. Elsewhere, contentSchema is an
// annotation.
func (c *Compiler) contentSchema(s *scope, n *Node, source *document.Node) {
	schema, media := source.Get("contentSchema"), source.Get("contentMediaType")
	switch {
	case s == nil || !s.events:
	case media != nil && IsJSONMedia(media.Text) && source.Get("contentEncoding") == nil:
		n.content = c.schemaOrAny(s.inContent(), schema)
	case schema != nil:
		c.Unsupported(schema, "needs the contentMediaType application/json and no contentEncoding")
	}
}

// IsJSONMedia reports whether a media type is JSON.
func IsJSONMedia(media string) bool {
	return strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
}
