package document

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
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
	case jsontext.KindBeginArray, jsontext.KindBeginObject:
	default:
		return append(dst, n.Text...), nil
	}
	start := len(dst)
	for _, element := range n.Elements {
		if dst, err = element.AppendJSON(append(dst, ','), limit); err != nil {
			return dst, err
		}
	}
	for _, m := range n.Members {
		dst, _ = jsontext.AppendQuote(append(dst, ','), m.Name)
		if dst, err = m.Value.AppendJSON(append(dst, ':'), limit); err != nil {
			return dst, err
		}
	}
	if len(dst) == start {
		dst = append(dst, ',')
	}
	dst[start] = byte(n.Kind)               // in place of the first comma
	return append(dst, byte(n.Kind)+2), nil // in ASCII, brackets and braces are closed by the character after the next
}
