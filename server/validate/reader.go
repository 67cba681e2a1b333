package validate

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// tokenReader is the reader from which a walker reads JSON: a [jsontext.Decoder] or a plainReader.
type tokenReader interface {
	PeekKind() jsontext.Kind
	ReadToken() (jsontext.Token, error)
	ReadValue() (jsontext.Value, error)
	StackDepth() int
	InputOffset() int64
}

// plainReader reads the JSON of most requests, in half the time of a [jsontext.Decoder]. It returns
// errNotPlain for other or invalid JSON: escapes in names, surrogates, objects with many members, and deep
// nesting. The walker then starts again with a [jsontext.Decoder].
type plainReader struct {
	text  []byte
	at    int  // offset of the next token, if found is set
	found bool // whether next has found the next token
	limit int  // of nesting
	after after
	stack []container
	names [][]byte // names of the members read so far, of all open objects
}

// after is the kind of the last token.
type after uint8

const (
	afterNothing after = iota // at the start of the text or of a container
	afterName
	afterValue
)

// container is an open container.
type container struct {
	isObject bool
	names    int // index of its first name in plainReader.names
}

// maxPlainNames limits the members of an object, because each name is compared with all others.
const maxPlainNames = 32

var errNotPlain = errors.New("not plain")

func (p *plainReader) reset(text []byte, limit int) {
	*p = plainReader{text: text, limit: limit, stack: p.stack[:0], names: p.names[:0]}
}

// forget drops the references to the text.
func (p *plainReader) forget() {
	clear(p.names[:cap(p.names)])
	p.reset(nil, 0)
}

// giveUp makes all further reads fail.
func (p *plainReader) giveUp() byte {
	p.text, p.at = nil, 1
	return 0
}

// StackDepth returns the number of open containers.
func (p *plainReader) StackDepth() int { return len(p.stack) }

// InputOffset returns an offset between the end of the last token and the start of the next one.
func (p *plainReader) InputOffset() int64 { return int64(p.at) }

// next finds the next token and returns its first byte. It returns 0 at the end of the text, or if no token
// is allowed there.
func (p *plainReader) next() byte {
	if p.found {
		return p.byte()
	}
	p.space()
	c := p.byte()
	switch p.after {
	case afterNothing:
	case afterName:
		if c != ':' {
			return p.giveUp()
		}
		p.at++
		p.space()
	case afterValue:
		switch {
		case len(p.stack) > 0 && c == ',':
			p.at++
			p.space()
			if c = p.byte(); c == '}' || c == ']' {
				return p.giveUp()
			}
		case p.at == len(p.text), len(p.stack) > 0 && (c == '}' || c == ']'):
		default:
			return p.giveUp()
		}
	}
	p.found = true
	return p.byte()
}

func (p *plainReader) byte() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *plainReader) space() {
	for p.at < len(p.text) && isSpace(p.text[p.at]) {
		p.at++
	}
}

// PeekKind returns the kind of the next token, which may be invalid.
func (p *plainReader) PeekKind() jsontext.Kind {
	c := p.next()
	if c == '-' || '0' <= c && c <= '9' {
		return '0'
	}
	return jsontext.Kind(c)
}

// ReadToken reads the start or end of a container. It returns [io.EOF] at the end of the text.
func (p *plainReader) ReadToken() (token jsontext.Token, err error) {
	c := p.next()
	switch {
	case c == '{' || c == '[':
		if p.inName() || len(p.stack) == p.limit {
			return token, errNotPlain
		}
		p.stack = append(p.stack, container{c == '{', len(p.names)})
		p.after = afterNothing
	case c == '}' || c == ']':
		last := len(p.stack) - 1
		if last < 0 || p.stack[last].isObject != (c == '}') || p.after == afterName {
			return token, errNotPlain
		}
		p.names = p.names[:p.stack[last].names]
		p.stack = p.stack[:last]
		p.after = afterValue
	case p.at == len(p.text) && len(p.stack) == 0 && p.after == afterValue:
		return token, io.EOF
	default:
		return token, errNotPlain
	}
	p.at++
	p.found = false
	return token, nil
}

// inName reports whether the next token is a member name.
func (p *plainReader) inName() bool {
	return len(p.stack) > 0 && p.stack[len(p.stack)-1].isObject && p.after != afterName
}

// ReadValue reads a member name or a value.
func (p *plainReader) ReadValue() (jsontext.Value, error) {
	c, start := p.next(), p.at
	switch {
	case p.inName():
		if !p.name() {
			return nil, errNotPlain
		}
	case c == '{' || c == '[':
		if err := p.container(); err != nil {
			return nil, err
		}
	case !p.scalar(c):
		return nil, errNotPlain
	}
	return p.text[start:p.at], nil
}

// container reads a whole container.
func (p *plainReader) container() error {
	for depth := len(p.stack); ; {
		var err error
		switch c := p.next(); {
		case c == '{' || c == '[' || c == '}' || c == ']':
			_, err = p.ReadToken()
		case p.inName():
			if !p.name() {
				err = errNotPlain
			}
		case !p.scalar(c):
			err = errNotPlain
		}
		if err != nil || len(p.stack) == depth {
			return err
		}
	}
}

// name reads a member name. It returns false if the name is a duplicate or not plain.
func (p *plainReader) name() bool {
	start := p.at
	if p.byte() != '"' || !p.string() {
		return false
	}
	name := p.text[start:p.at]
	others := p.names[p.stack[len(p.stack)-1].names:]
	if len(others) == maxPlainNames || bytes.IndexByte(name, '\\') >= 0 {
		return false
	}
	for _, other := range others {
		if len(other) == len(name) && string(other) == string(name) {
			return false
		}
	}
	p.names = append(p.names, name)
	p.after, p.found = afterName, false
	return true
}

// scalar reads a scalar that begins with c.
func (p *plainReader) scalar(c byte) (ok bool) {
	switch c {
	case '"':
		ok = p.string()
	case 't':
		ok = p.word("true")
	case 'f':
		ok = p.word("false")
	case 'n':
		ok = p.word("null")
	default:
		ok = p.number()
	}
	p.after, p.found = afterValue, false
	return ok
}

func (p *plainReader) word(word string) bool {
	ok := bytes.HasPrefix(p.text[p.at:], []byte(word))
	p.at += len(word)
	return ok
}

func (p *plainReader) number() bool {
	if p.byte() == '-' {
		p.at++
	}
	if p.byte() == '0' {
		p.at++
	} else if !p.digits() {
		return false
	}
	if p.byte() == '.' {
		p.at++
		if !p.digits() {
			return false
		}
	}
	if p.byte()|0x20 == 'e' {
		p.at++
		if c := p.byte(); c == '+' || c == '-' {
			p.at++
		}
		return p.digits()
	}
	return true
}

// digits reads one or more digits.
func (p *plainReader) digits() bool {
	start := p.at
	for c := p.byte(); '0' <= c && c <= '9'; c = p.byte() {
		p.at++
	}
	return p.at > start
}

// isPlainByte has the bytes that are one character of a string by themselves.
var isPlainByte = func() (plain [256]bool) { //nolint:gochecknoglobals // never changed
	for c := ' '; c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

// string reads a string.
func (p *plainReader) string() bool {
	start, ascii := p.at, true
	for i := p.at + 1; i < len(p.text); i++ {
		c := p.text[i]
		switch {
		case isPlainByte[c]:
		case c == '"':
			p.at = i + 1
			return ascii || utf8.Valid(p.text[start:i])
		case c == '\\':
			length := escapeLength(p.text[i:])
			if length == 0 {
				return false
			}
			i += length - 1
		case c >= utf8.RuneSelf:
			ascii = false
		default:
			return false
		}
	}
	return false
}

// escapeLength returns the length of the escape at the start of text, or 0 if it is invalid or a surrogate.
func escapeLength(text []byte) int {
	const long = len(`\u0000`)
	switch {
	case len(text) < len(`\n`):
	case bytes.IndexByte([]byte(`"\/bfnrt`), text[1]) >= 0:
		return len(`\n`)
	case text[1] == 'u' && len(text) >= long:
		for _, c := range text[2:long] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		if text[2]|0x20 != 'd' || text[3] < '8' {
			return long
		}
	}
	return 0
}
