// Package document reads YAML and JSON into one tree that keeps the order of members and where
// everything is written.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth limits the levels of nesting of a document.
const maxDepth = 200

// Node is a value of a document. It must not be modified.
type Node struct {
	// Kind is that of the value: n, t, f, ", 0, { or [.
	Kind jsontext.Kind
	// Text is the text of a string, or a number, true, false and null as JSON writes them.
	Text string
	// Members are those of an object, in the order of the document.
	Members []Member
	// Elements are those of an array.
	Elements []*Node
	// Position is where the value begins.
	Position Position

	parent *Node
	token  string // the name or the index in parent
}

// Member is a member of an object.
type Member struct {
	Name     string
	Value    *Node
	Position Position // of the name
}

// Position is a place in a file. Lines and columns begin at 1; a column counts characters.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string {
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Error says what keeps a text from being read.
type Error struct {
	Position Position
	Detail   string
}

func (e *Error) Error() string { return e.Position.String() + ": " + e.Detail }

// Parse reads one YAML or JSON document. Its error is an [*Error]. Member names are unique; of
// YAML it takes what has an equal in JSON, and aliases.
func Parse(file string, text []byte) (*Node, error) {
	if text = bytes.TrimPrefix(text, []byte("\ufeff")); !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return parseYAML(file, text)
	}
	root, err := parseJSON(file, text)
	if err != nil && err.syntax { // a flow mapping of YAML looks much the same
		if root, yamlErr := parseYAML(file, text); yamlErr == nil {
			return root, nil
		}
	}
	if err != nil {
		return nil, &err.Error
	}
	return root, nil
}

// Get returns the value of a member, or nil.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Name == name {
			return n.Members[i].Value
		}
	}
	return nil
}

// All returns the members of an object, of which a nil node has none.
func (n *Node) All() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		if n == nil {
			return
		}
		for _, m := range n.Members {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// Parent returns what contains the node, nil for a root. The parent of a value that aliases share
// is where the value is written.
func (n *Node) Parent() *Node { return n.parent }

// Name returns the name of the member that has the node as its value.
func (n *Node) Name() string { return n.token }

// Pointer returns the JSON pointer (RFC 6901) of the node in its document.
func (n *Node) Pointer() string {
	if n.parent == nil {
		return ""
	}
	return n.parent.Pointer() + "/" + Escape(n.token)
}

// Escape escapes a name for a JSON pointer.
func Escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// Find returns the node that a JSON pointer leads to from n, or nil.
func (n *Node) Find(pointer string) *Node {
	for pointer != "" && n != nil {
		token, ok := strings.CutPrefix(pointer, "/")
		if !ok {
			return nil
		}
		end := strings.IndexByte(token, '/')
		if end < 0 {
			end = len(token)
		}
		token, pointer = token[:end], token[end:]
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if n.Kind != '[' {
			n = n.Get(token)
			continue
		}
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(n.Elements) || token != strconv.Itoa(i) {
			return nil
		}
		n = n.Elements[i]
	}
	return n
}

// AppendJSON appends the value as JSON. A value that aliases make huge is cut off with an error.
func (n *Node) AppendJSON(dst []byte) ([]byte, error) {
	const most = 1 << 20
	if len(dst) > most {
		return dst, fmt.Errorf("is longer than %d bytes", most)
	}
	var err error
	switch n.Kind {
	case '"':
		return appendQuoted(dst, n.Text), nil
	case '[':
		dst = append(dst, '[')
		for i, element := range n.Elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = element.AppendJSON(dst); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case '{':
		dst = append(dst, '{')
		for i, m := range n.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, m.Name), ':')
			if dst, err = m.Value.AppendJSON(dst); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	default:
		return append(dst, n.Text...), nil
	}
}

func appendQuoted(dst []byte, text string) []byte {
	quoted, err := jsontext.AppendQuote(dst, text)
	if err != nil { // not UTF-8, which encoding/json replaces
		encoded, _ := json.Marshal(text)
		return append(dst, encoded...)
	}
	return quoted
}

// repeated returns the first member whose name an earlier one has.
func repeated(members []Member) *Member {
	if len(members) <= 16 {
		for i := range members {
			for j := range i {
				if members[i].Name == members[j].Name {
					return &members[i]
				}
			}
		}
		return nil
	}
	names := make(map[string]bool, len(members))
	for i := range members {
		if names[members[i].Name] {
			return &members[i]
		}
		names[members[i].Name] = true
	}
	return nil
}
