package document

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

type jsonParser struct {
	file string
	text string
	dec  *jsontext.Decoder
	errs []Error

	unused []Node // allocated for the next values

	last         int // the offset of the last position
	line, column int // there, both from 0
}

func parseJSON(file string, text []byte) (*Node, []Error) {
	p := &jsonParser{
		file: file, text: string(text),
		dec: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true)),
	}
	root, err := p.value(nil, "", 1)
	if err != nil {
		offset := p.dec.InputOffset()
		if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) {
			offset = syntactic.ByteOffset
		}
		return nil, []Error{{Position: p.position(int(offset)), Detail: "is not valid JSON"}}
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, []Error{{Position: p.position(int(p.dec.InputOffset())), Detail: "has text after its end"}}
	}
	return root, p.errs
}

// position returns where an offset is. Offsets are asked for in rising order.
func (p *jsonParser) position(offset int) Position {
	offset = max(p.last, min(offset, len(p.text)))
	passed := p.text[p.last:offset]
	if lines := strings.Count(passed, "\n"); lines > 0 {
		p.line, p.column = p.line+lines, 0
		passed = passed[strings.LastIndexByte(passed, '\n')+1:]
	}
	p.last, p.column = offset, p.column+utf8.RuneCountInString(passed)
	return Position{p.file, p.line + 1, p.column + 1}
}

// next returns where the next token begins.
func (p *jsonParser) next() Position {
	rest := strings.TrimLeft(p.text[p.dec.InputOffset():], " \t\r\n,:")
	return p.position(len(p.text) - len(rest))
}

// read reads a token. Its text is a part of the document unless it is a string with escapes.
func (p *jsonParser) read() (text string, err error) {
	token, err := p.dec.ReadToken()
	if err != nil {
		return "", err
	}
	text = strings.Trim(p.text[p.last:p.dec.InputOffset()], `"`)
	if strings.Contains(text, `\`) {
		text = token.String()
	}
	return text, nil
}

// value reads a value. The error is one of the syntax.
func (p *jsonParser) value(parent *Node, token string, depth int) (*Node, error) {
	if len(p.unused) == 0 {
		p.unused = make([]Node, 64)
	}
	n := &p.unused[0]
	p.unused = p.unused[1:]
	*n = Node{Kind: p.dec.PeekKind(), Position: p.next(), parent: parent, token: token}
	if depth > maxDepth {
		p.errs = append(p.errs, Error{Position: n.Position, Detail: "is nested too deep"})
		return n, p.dec.SkipValue()
	}
	text, err := p.read()
	if err != nil {
		return nil, err
	}
	isObject := n.Kind == jsontext.KindBeginObject
	if !isObject && n.Kind != jsontext.KindBeginArray {
		n.Text = text
		return n, nil
	}
	for next := p.dec.PeekKind(); next != jsontext.KindEndObject && next != jsontext.KindEndArray; next = p.dec.PeekKind() {
		m := Member{Name: strconv.Itoa(len(n.Elements)), Position: p.next()}
		if isObject {
			if m.Name, err = p.read(); err != nil {
				return nil, err
			}
		}
		if m.Value, err = p.value(n, m.Name, depth+1); err != nil {
			return nil, err
		}
		if isObject {
			n.Members = append(n.Members, m)
		} else {
			n.Elements = append(n.Elements, m.Value)
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	p.errs = append(p.errs, n.unique()...)
	return n, nil
}
