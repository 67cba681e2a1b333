// Package document reads OpenAPI documents. [Load] reads YAML and JSON into a tree that keeps the order of members and
// the position of each name and value, checks it against OpenAPI, and resolves its references. Package schema compiles
// the schemas in it, and package validate the operations.
package document

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth limits the levels of nesting of a document.
const maxDepth = 200

// Node is a value of a document. It does not change after [Load].
type Node struct {
	Kind jsontext.Kind
	// Text is the text of a string without quotes and escapes, or null, true, false or a number in JSON.
	Text string
	// Members are those of an object, in the order of the document.
	Members []Member
	// Elements are those of an array.
	Elements []*Node
	// Position is where the value begins.
	Position Position

	parent *Node  // nil for the root; of a node with aliases, the one at the anchor
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

// Error is a place at which a text is not a valid document.
type Error struct {
	Position Position
	Pointer  string // the JSON pointer (RFC 6901) of the value, or "" if the text cannot be parsed
	Detail   string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: ", e.Position.File, e.Position.Line, e.Position.Column)
	if e.Pointer != "" {
		text += e.Pointer + ": "
	}
	return inOneLine.Replace(text + e.Detail)
}

// inOneLine escapes the line breaks of names in the document.
//
//nolint:gochecknoglobals // never changed
var inOneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// parse parses one YAML or JSON document. file is its name in positions. The node is nil if the syntax is invalid.
// After other errors, it lacks the invalid values.
//
// It rejects duplicate names, more than 200 levels of nesting, a second document, and YAML that has no
// equivalent in JSON: names that are not scalars, << that merges objects, tags other than those of JSON's types, and
// infinite numbers. Plain scalars have the types of the core schema of YAML 1.2. An alias is the node that it refers
// to; it must not refer to a value that contains it.
func parse(file string, text []byte) (*Node, []Error) {
	if text = bytes.TrimPrefix(text, []byte("\ufeff")); !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return parseYAML(file, text)
	}
	root, errs := parseJSON(file, text)
	if root == nil { // it may be a flow mapping of YAML
		if root, errs := parseYAML(file, text); root != nil {
			return root, errs
		}
	}
	return root, errs
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

// IsTrue reports whether n is the boolean true. It may be nil.
func (n *Node) IsTrue() bool { return n != nil && n.Kind == jsontext.KindTrue }

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

// Key returns the name of a member of n as a string, for errors that are about the name.
func (n *Node) Key(m Member) *Node {
	return &Node{Kind: jsontext.KindString, Text: m.Name, Position: m.Position, parent: n, token: m.Name}
}

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
		if n.Kind != jsontext.KindBeginArray {
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

// unique removes the members whose name an earlier one has, and returns an error for each of them.
func (n *Node) unique() (errs []Error) {
	names := make(map[string]bool, len(n.Members))
	n.Members = slices.DeleteFunc(n.Members, func(m Member) bool {
		repeated := names[m.Name]
		if names[m.Name] = true; repeated {
			errs = append(errs, Error{Position: m.Position, Detail: "occurs more than once in its object: " + m.Name})
		}
		return repeated
	})
	return errs
}
