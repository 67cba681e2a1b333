package document

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

func parseYAML(file string, text []byte) (*Node, []Error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var source, second yaml.Node
	switch err := decoder.Decode(&source); {
	case errors.Is(err, io.EOF) || err == nil && len(source.Content) == 0:
		return nil, []Error{{Position: Position{file, 1, 1}, Detail: "is empty"}}
	case err != nil:
		return nil, []Error{yamlError(file, text, err)}
	}
	p := &yamlParser{file: file, read: make(map[*yaml.Node]*Node)}
	root := p.value(source.Content[0], nil, "", 1)
	if err := decoder.Decode(&second); err == nil {
		p.fail(Position{file, second.Line, max(second.Column, 1)}, "is a second document in one file")
	} else if !errors.Is(err, io.EOF) {
		return nil, []Error{yamlError(file, text, err)}
	}
	return root, p.errs
}

// yamlError adds the position to an error of the parser, which has the line in its text only.
func yamlError(file string, text []byte, err error) Error {
	detail := err.Error()
	position := Position{file, 1, 1}
	if found := regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`).FindStringSubmatch(detail); found != nil {
		if line, err := strconv.Atoi(found[1]); err == nil {
			position.Line = line
		}
		detail = found[2]
		if strings.HasPrefix(detail, "did not find expected") && found[1] != "" {
			position.Line++ // the parser counts from 0, and the scanner from 1
		}
		position.Line = min(position.Line, 1+bytes.Count(bytes.TrimSpace(text), []byte("\n")))
	}
	return Error{Position: position, Detail: "is not valid YAML: " + detail}
}

type yamlParser struct {
	file string
	read map[*yaml.Node]*Node // the values with an anchor, once they have been read
	errs []Error
}

func (p *yamlParser) fail(at Position, detail string) {
	p.errs = append(p.errs, Error{Position: at, Detail: detail})
}

func (p *yamlParser) at(source *yaml.Node) Position {
	return Position{p.file, source.Line, source.Column}
}

// value returns nil for a value that has no equivalent in JSON.
func (p *yamlParser) value(source *yaml.Node, parent *Node, token string, depth int) *Node {
	if source.Kind == yaml.AliasNode {
		shared, ok := p.read[source.Alias]
		if !ok {
			p.fail(p.at(source), "is an alias within what it stands for")
		}
		return shared
	}
	n := p.own(source, parent, token, depth)
	if source.Anchor != "" {
		p.read[source] = n
	}
	return n
}

// own is value for a value that is no alias.
func (p *yamlParser) own(source *yaml.Node, parent *Node, token string, depth int) *Node {
	n := &Node{Position: p.at(source), parent: parent, token: token}
	if depth > maxDepth {
		p.fail(n.Position, "is nested too deep")
		return nil
	}
	switch source.Kind {
	case yaml.MappingNode:
		n.Kind = jsontext.KindBeginObject
		p.members(n, source, depth)
	case yaml.SequenceNode:
		n.Kind = jsontext.KindBeginArray
		for i, element := range source.Content {
			if e := p.value(element, n, strconv.Itoa(i), depth+1); e != nil {
				n.Elements = append(n.Elements, e)
			}
		}
	default:
		if detail := scalar(n, source); detail != "" {
			p.fail(n.Position, detail)
			return nil
		}
	}
	if tag := source.ShortTag(); n.Kind == jsontext.KindBeginObject && tag != "!!map" || n.Kind == jsontext.KindBeginArray && tag != "!!seq" {
		p.fail(n.Position, "has a tag that JSON has no equal for: "+tag)
	}
	return n
}

func (p *yamlParser) members(n *Node, source *yaml.Node, depth int) {
	n.Members = make([]Member, 0, len(source.Content)/2)
	for i := 0; i < len(source.Content); i += 2 {
		name := source.Content[i]
		m := Member{Name: name.Value, Position: p.at(name)}
		if name.Kind != yaml.ScalarNode {
			p.fail(m.Position, "is no name of a member")
			continue
		}
		if name.ShortTag() == "!!merge" { // other programs would read other members
			p.fail(m.Position, "merges an object, which YAML 1.2 does not")
			continue
		}
		if m.Value = p.value(source.Content[i+1], n, m.Name, depth+1); m.Value != nil {
			n.Members = append(n.Members, m)
		}
	}
	p.errs = append(p.errs, n.unique()...)
}

// scalar reads a scalar according to the core schema of YAML 1.2. It returns what is wrong with the scalar.
func scalar(n *Node, source *yaml.Node) (detail string) {
	n.Kind, n.Text = jsontext.KindString, source.Value
	tag, ok := source.ShortTag(), true
	switch tag {
	case "!!str", "!!timestamp":
	case "!!null":
		n.Kind, n.Text = jsontext.KindNull, "null"
		ok = slices.Contains([]string{"", "~", "null", "Null", "NULL"}, source.Value)
	case "!!bool":
		n.Text = strings.ToLower(source.Value)
		if ok = n.Text == "true" || n.Text == "false"; ok {
			n.Kind = jsontext.Kind(n.Text[0])
		}
	case "!!int", "!!float":
		number, isNumber := jsonNumber(source.Value)
		switch {
		case isNumber:
			n.Kind, n.Text = jsontext.KindNumber, number
		case strings.HasSuffix(strings.ToLower(source.Value), "inf"), strings.EqualFold(source.Value, ".nan"):
			return "is a number that JSON does not have: " + source.Value
		default: // such as 1_000, which is a string since YAML 1.2
			ok = source.Style&yaml.TaggedStyle == 0
		}
	default:
		return "has a tag that JSON has no equal for: " + tag
	}
	if !ok {
		return "has a tag for another text: " + tag
	}
	return ""
}

// jsonNumber returns the JSON of a number of the core schema.
func jsonNumber(text string) (number string, ok bool) {
	if value := jsontext.Value(text); value.IsValid() && value.Kind() == jsontext.KindNumber {
		return text, true
	}
	if parts := regexp.MustCompile(`^(?:(-)|\+)?(?:0*([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))([eE][-+]?[0-9]+)?$`).FindStringSubmatch(text); parts != nil {
		number = parts[1] + cmp.Or(parts[2], "0")
		if fraction := parts[3] + parts[4]; fraction != "" {
			number += "." + fraction
		}
		return number + parts[5], true
	}
	if regexp.MustCompile(`^0(?:x[0-9a-fA-F]+|o[0-7]+)$`).MatchString(text) {
		value, _ := new(big.Int).SetString(text, 0)
		return value.String(), true
	}
	return "", false
}
