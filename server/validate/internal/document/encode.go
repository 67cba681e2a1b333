package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// AppendJSON appends the value to dst as JSON, without white space. It returns an error when dst exceeds limit
// bytes, because aliases can make the JSON far longer than the document.
func (n *Node) AppendJSON(dst []byte, limit int) ([]byte, error) {
	if len(dst) > limit {
		return dst, fmt.Errorf("is longer than %d bytes", limit)
	}
	var err error
	switch n.Kind {
	case jsontext.KindString:
		dst, _ = jsontext.AppendQuote(dst, n.Text) // replaces invalid UTF-8
		return dst, nil
	case jsontext.KindBeginArray:
		dst = append(dst, '[')
		for i, element := range n.Elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = element.AppendJSON(dst, limit); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case jsontext.KindBeginObject:
		dst = append(dst, '{')
		for i, m := range n.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, _ = jsontext.AppendQuote(dst, m.Name)
			if dst, err = m.Value.AppendJSON(append(dst, ':'), limit); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	default:
		return append(dst, n.Text...), nil
	}
}

// YAML returns the value as a YAML document in block style. Aliases are written out.
func (n *Node) YAML() ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := encoder.Encode(n.yaml())
	return text.Bytes(), err
}

func (n *Node) yaml() *yaml.Node {
	switch n.Kind {
	case jsontext.KindBeginArray:
		array := &yaml.Node{Kind: yaml.SequenceNode}
		for _, element := range n.Elements {
			array.Content = append(array.Content, element.yaml())
		}
		return array
	case jsontext.KindBeginObject:
		object := &yaml.Node{Kind: yaml.MappingNode}
		for _, m := range n.Members {
			object.Content = append(object.Content, yamlString(m.Name), m.Value.yaml())
		}
		return object
	case jsontext.KindString:
		return yamlString(n.Text)
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	}
}

// yamlString quotes what YAML 1.1, which some readers of documents implement, takes for another type.
func yamlString(text string) *yaml.Node {
	scalar := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch {
	case strings.ContainsAny(text, "\t\r\u0085\u2028\u2029") || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n"):
		scalar.Style = yaml.DoubleQuotedStyle
	case strings.Contains(text, "\n"):
		scalar.Style = yaml.LiteralStyle
	case text == "" || strings.IndexByte("0123456789+-.<=", text[0]) >= 0,
		slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(text)):
		scalar.Style = yaml.SingleQuotedStyle
	}
	return scalar
}
