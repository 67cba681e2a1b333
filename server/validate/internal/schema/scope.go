package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// scope is the dynamic scope of JSON Schema: for each $dynamicAnchor, the schema with that anchor in the
// outermost resource. The scope is known when a schema is compiled, so that a $dynamicRef becomes an ordinary
// reference.
type scope struct {
	dynamic map[string]*document.Node
	text    string // the same for equal scopes
	events  bool   // whether the schema describes server-sent events, whose data has a contentSchema that is enforced
}

// enter returns the scope inside a resource, by its $dynamicAnchors.
func (s *scope) enter(anchors map[string]*document.Node) *scope {
	if len(anchors) == 0 {
		return s
	}
	inner := &scope{dynamic: maps.Clone(anchors), events: s.events}
	maps.Copy(inner.dynamic, s.dynamic) // the outermost resource counts
	for _, name := range slices.Sorted(maps.Keys(inner.dynamic)) {
		inner.text += fmt.Sprintf("%s=%p ", name, inner.dynamic[name])
	}
	return inner
}

// dynamicTarget returns the target of a $dynamicRef.
func (c *Compiler) dynamicTarget(s *scope, ref *document.Node) *document.Node {
	target := c.Target(ref)
	anchor := target.Get("$dynamicAnchor")
	if anchor == nil || !strings.HasSuffix(ref.Text, "#"+anchor.Text) || s.dynamic[anchor.Text] == nil {
		return target
	}
	return s.dynamic[anchor.Text]
}

// contentSchema compiles the schema of JSON in the strings of server-sent events. Elsewhere, contentSchema is an
// annotation.
func (c *Compiler) contentSchema(s *scope, n *Node, source *document.Node) {
	schema, media := source.Get("contentSchema"), source.Get("contentMediaType")
	switch {
	case !s.events:
	case media != nil && IsJSONMedia(media.Text) && source.Get("contentEncoding") == nil:
		n.content = cmp.Or(c.schemaIn(&scope{dynamic: s.dynamic, text: s.text}, schema), anything)
	case schema != nil:
		c.Unsupported(schema, "needs the contentMediaType application/json and no contentEncoding")
	}
}

// IsJSONMedia reports whether a media type is JSON.
func IsJSONMedia(media string) bool {
	return strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
}
