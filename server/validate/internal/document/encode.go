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
