package schema

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/decimal"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// pattern is a regular expression with the detail of its violations.
type pattern struct {
	*regexp.Regexp
	detail string
}

// compilePattern compiles a pattern of ECMA-262 in Unicode mode. It translates syntax that RE2 reads
// differently, and returns an error for syntax that RE2 cannot express.
func compilePattern(text string) (*pattern, error) {
	t := translator{source: text}
	if err := t.translate(); err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(t.out.String())
	if invalid := (*syntax.Error)(nil); errors.As(err, &invalid) {
		if invalid.Code == syntax.ErrInvalidRepeatSize {
			return nil, errors.New("has a repetition that RE2 does not support, such as one over 1000")
		}
		return nil, errors.New("is no regular expression: " + invalid.Code.String())
	}
	return &pattern{compiled, "must match " + text}, nil
}

// isRegex reports whether text is a pattern of ECMA-262. It removes the syntax that only RE2 does not support
// before compiling.
func isRegex(text []byte) bool {
	if len(text) > 10_000 { // a byte takes microseconds, and longer in a long text
		return false
	}
	lacking := regexp.MustCompile(`\\\\|\\\[|\(\?(?:<?[=!])|\\[1-9][0-9]*|\\k<\w+>|\\[pP]\{\w+(?:=\w+)?\}|\{\d{4,}(?:,\d*)?\}|\{\d+,\d{4,}\}`)
	plain := lacking.ReplaceAllStringFunc(string(text), func(found string) string {
		switch {
		case found[0] == '(':
			return "(?:"
		case found[0] == '{':
			return "{1}"
		case found[1] == '\\' || found[1] == '[':
			return found
		}
		return "(?:)"
	})
	_, err := compilePattern(plain)
	return err == nil
}

// Character sets of ECMA-262 that RE2 lacks, in bracket syntax.
const (
	spaces    = `\t-\r\x20\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	notSpaces = `\x00-\x08\x0e-\x1f\x21-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	notLineEnds = `[^\n\r\x{2028}\x{2029}]`
)

var errPatternEscape = errors.New("has an escape that is not in ECMA-262 or not supported by RE2")

// translator translates a pattern to the syntax of RE2.
type translator struct {
	source string // what is left of the pattern
	out    strings.Builder
	class  bool // inside brackets
	count  int  // number of items in the class so far
	dash   bool // whether the last item is a dash that may form a range
}

func (t *translator) translate() error {
	for t.source != "" {
		c := t.source[0]
		switch {
		case c == '\\':
			if err := t.escape(); err != nil {
				return err
			}
			continue
		case t.class && c == ']':
			t.class = false
		case t.class:
			if c == '[' { // RE2 would read [[:alpha:]] as a class
				t.out.WriteByte('\\')
			}
			t.item(c == '-' && t.count > 0)
		case c == '[':
			switch {
			case strings.HasPrefix(t.source, "[]"): // matches nothing
				t.write(len("[]"), `[^\x00-\x{10ffff}]`)
				continue
			case strings.HasPrefix(t.source, "[^]"): // matches anything
				t.write(len("[^]"), `[\x00-\x{10ffff}]`)
				continue
			case strings.HasPrefix(t.source, "[^"):
				t.write(len("["), "[")
			}
			t.class, t.count, t.dash = true, 0, false
		case slices.ContainsFunc([]string{"(?=", "(?!", "(?<=", "(?<!"}, func(look string) bool { return strings.HasPrefix(t.source, look) }):
			return errors.New("has a look-ahead or look-behind, which RE2 does not support")
		case strings.HasPrefix(t.source, "(?") && !strings.HasPrefix(t.source, "(?:") && !strings.HasPrefix(t.source, "(?<"):
			return errors.New("has a group that is not (…), (?:…) or (?<name>…)")
		case c == '.':
			t.write(1, notLineEnds)
			continue
		}
		t.write(1, t.source[:1])
	}
	return nil
}

func (t *translator) item(dash bool) { t.count, t.dash = t.count+1, dash }

// escape translates an escape sequence.
func (t *translator) escape() error {
	if len(t.source) < 2 {
		return errPatternEscape
	}
	c := t.source[1]
	switch c {
	case 'd', 'D', 'w', 'W', 's', 'S', 'p', 'P':
		return t.set(c)
	case 'b', 'B':
		if t.class && c == 'B' {
			return errPatternEscape
		}
		if t.class {
			return t.char(2, '\b')
		}
		t.write(2, `\`+string(c))
		return nil
	case 'f', 'n', 'r', 't', 'v':
		t.item(false)
		t.write(2, `\`+string(c))
		return nil
	case '0':
		if decimal.LeadingDigits([]byte(t.source[1:])) > 1 {
			return errPatternEscape
		}
		return t.char(2, 0)
	case 'c':
		if len(t.source) < 3 || !isLetter(t.source[2]) {
			return errPatternEscape
		}
		return t.char(3, rune(t.source[2]%32))
	case 'x', 'u':
		return t.hexadecimal()
	case '1', '2', '3', '4', '5', '6', '7', '8', '9', 'k':
		if !t.class {
			return errors.New("has a back-reference, which RE2 does not support")
		}
	}
	if c >= 0x80 || c == '_' || isLetter(c) || decimal.LeadingDigits([]byte{c}) > 0 {
		return errPatternEscape
	}
	return t.char(2, rune(c))
}

// write replaces the next n bytes with text.
func (t *translator) write(n int, text string) {
	t.out.WriteString(text)
	t.source = t.source[n:]
}

// char replaces the next n bytes with an escaped character.
func (t *translator) char(n int, r rune) error {
	t.item(false)
	t.write(n, `\x{`+strconv.FormatInt(int64(r), 16)+`}`)
	return nil
}

// set translates an escape that matches several characters.
func (t *translator) set(c byte) error {
	n, text := 2, `\`+string(c)
	switch c {
	case 's':
		text = spaces
	case 'S':
		text = notSpaces
	case 'p', 'P':
		name, _, ok := strings.Cut(strings.TrimPrefix(t.source[2:], "{"), "}")
		n += len(name) + len("{}")
		if script, is := strings.CutPrefix(name, "Script="); is {
			ok, name = ok && unicode.Scripts[script] != nil, script
		} else {
			ok = ok && (unicode.Categories[name] != nil || unicode.CategoryAliases[name] != "")
		}
		if !ok || t.source[2] != '{' {
			return errPatternEscape
		}
		text += "{" + name + "}"
	}
	if t.class {
		after := t.source[n:]
		if t.dash || strings.HasPrefix(after, "-") && !strings.HasPrefix(after, "-]") {
			return errors.New("has a character class with a range of sets")
		}
		t.item(false)
	} else if c == 's' || c == 'S' {
		text = "[" + text + "]"
	}
	t.write(n, text)
	return nil
}

// hexadecimal translates \xHH, \uHHHH, surrogate pairs of \uHHHH, and \u{H…}.
func (t *translator) hexadecimal() error {
	found := hexEscape.FindStringSubmatch(t.source)
	if found == nil {
		return errPatternEscape
	}
	code, err := strconv.ParseUint(found[2]+found[3]+found[4], 16, 32)
	r, size := rune(code), len(found[1])
	if low, isPair := strings.CutPrefix(found[5], `\u`); isPair && utf16.IsSurrogate(r) && found[3] != "" {
		second, _ := strconv.ParseUint(low, 16, 32)
		r, size = utf16.DecodeRune(r, rune(second)), len(found[0])
	}
	if err != nil || !utf8.ValidRune(r) || size > len(found[1]) && r == unicode.ReplacementChar {
		return errPatternEscape
	}
	return t.char(size, r)
}

// hexEscape matches an escape with hexadecimal digits, and a second one after it.
var hexEscape = regexp.MustCompile(`^(\\(?:x([[:xdigit:]]{2})|u([[:xdigit:]]{4})|u\{([[:xdigit:]]+)\}))(\\u[[:xdigit:]]{4})?`)

// pattern compiles a regular expression. It returns nil if the expression is not supported.
func (c *Compiler) pattern(n *document.Node) *pattern {
	if known := c.patterns[n.Text]; known != nil {
		return known
	}
	compiled, err := compilePattern(n.Text)
	if err != nil {
		c.Unsupported(n, err.Error())
		return nil
	}
	c.patterns[n.Text] = compiled
	return compiled
}
