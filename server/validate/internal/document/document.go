// Package document reads YAML and JSON into a tree that keeps the order of members and the position of each
// name and value. Package validate compiles this tree.
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

// Node is a value of a document. It must not be modified. It is safe for concurrent use.
type Node struct {
	// Kind is the kind of the value: n, t, f, ", 0, { or [ for null, true, false, a string, a number, an
	// object or an array.
	Kind jsontext.Kind
	// Text is the text of a string without quotes and escapes, or null, true, false or a number in JSON.
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

// Error is the error of Parse: the first place at which a text is not a valid document.
type Error struct {
	Position Position
	Detail   string
}

func (e *Error) Error() string { return e.Position.String() + ": " + e.Detail }

// Parse parses one YAML or JSON document. file is its name in positions. The error is an [*Error].
//
// Parse rejects duplicate names, more than 200 levels of nesting, a second document, and YAML that has no
// equivalent in JSON: merge keys, names that are not scalars, tags other than those of JSON's types, and
// numbers that JSON writes differently, such as 0x10. An unquoted date is a string. An alias is the node that
// it refers to; it must not refer to a value that contains it.
func Parse(file string, text []byte) (*Node, error) {
	if text = bytes.TrimPrefix(text, []byte("\ufeff")); !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return parseYAML(file, text)
	}
	root, err := parseJSON(file, text)
	if err != nil && err.syntax { // it may be a flow mapping of YAML
		if root, yamlErr := parseYAML(file, text); yamlErr == nil {
			return root, nil
		}
	}
	if err != nil {
		return nil, &err.Error
	}
	return root, nil
}

// Get returns the value of the member with a name, or nil if n is nil or has no such member.
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

// All iterates over the members of an object. It yields none if n is nil or no object.
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

// Parent returns the object or array that contains the node, or nil for the root. The parent of a node that
// aliases refer to is the one at the anchor.
func (n *Node) Parent() *Node { return n.parent }

// Name returns the name of the member whose value the node is, the index of an element of an array, or "" for
// the root.
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

// Find returns the node at a JSON pointer (RFC 6901) relative to n, or nil if there is none or n is nil.
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

// AppendJSON appends the value to dst as JSON, without white space. It returns an error when dst exceeds 1 MiB,
// because aliases can make the JSON far longer than the document.
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
