package document

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

func parseYAML(file string, text []byte) (*Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var source, second yaml.Node
	switch err := decoder.Decode(&source); {
	case errors.Is(err, io.EOF) || err == nil && len(source.Content) == 0:
		return nil, &Error{Position{file, 1, 1}, "is empty"}
	case err != nil:
		return nil, yamlError(file, text, err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, &Error{Position{file, second.Line, max(second.Column, 1)}, "is a second document in one file"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(file, text, err)
	}
	p := &yamlParser{file: file, read: make(map[*yaml.Node]*Node)}
	return p.value(source.Content[0], nil, "", 1)
}

// yamlError adds the position to an error of the parser, which has the line in its text only.
func yamlError(file string, text []byte, err error) *Error {
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
	return &Error{position, "is not valid YAML: " + detail}
}

type yamlParser struct {
	file string
	read map[*yaml.Node]*Node // nodes with an anchor; nil while they are being read
}

func (p *yamlParser) at(source *yaml.Node) Position {
	return Position{p.file, source.Line, source.Column}
}

func (p *yamlParser) value(source *yaml.Node, parent *Node, token string, depth int) (*Node, error) {
	if source.Kind == yaml.AliasNode {
		shared := p.read[source.Alias]
		if shared == nil {
			return nil, &Error{p.at(source), "is an alias within what it stands for"}
		}
		return shared, nil
	}
	n := &Node{Position: p.at(source), parent: parent, token: token}
	if depth > maxDepth {
		return nil, &Error{n.Position, "is nested too deep"}
	}
	var err error
	switch source.Kind {
	case yaml.MappingNode:
		n.Kind = '{'
		err = p.members(n, source, depth)
	case yaml.SequenceNode:
		n.Kind = '['
		n.Elements = make([]*Node, len(source.Content))
		for i, element := range source.Content {
			if n.Elements[i], err = p.value(element, n, strconv.Itoa(i), depth+1); err != nil {
				return nil, err
			}
		}
	default:
		err = scalar(n, source)
	}
	if err != nil {
		return nil, err
	}
	if tag := source.ShortTag(); n.Kind == '{' && tag != "!!map" || n.Kind == '[' && tag != "!!seq" {
		return nil, &Error{n.Position, "has a tag that JSON has no equal for: " + tag}
	}
	if source.Anchor != "" {
		p.read[source] = n
	}
	return n, nil
}

func (p *yamlParser) members(n *Node, source *yaml.Node, depth int) error {
	n.Members = make([]Member, len(source.Content)/2)
	for i := range n.Members {
		name, value := source.Content[2*i], source.Content[2*i+1]
		m := &n.Members[i]
		m.Name, m.Position = name.Value, p.at(name)
		if name.Kind != yaml.ScalarNode {
			return &Error{m.Position, "is no name of a member"}
		}
		if name.ShortTag() == "!!merge" {
			return &Error{m.Position, "is a merge key, which JSON has no equal for"}
		}
		var err error
		if m.Value, err = p.value(value, n, m.Name, depth+1); err != nil {
			return err
		}
	}
	if twice := repeated(n.Members); twice != nil {
		return &Error{twice.Position, "occurs more than once in its object: " + twice.Name}
	}
	return nil
}

// scalar reads a scalar according to the core schema of YAML 1.2.
func scalar(n *Node, source *yaml.Node) error {
	n.Text = source.Value
	switch tag := source.ShortTag(); tag {
	case "!!str", "!!timestamp":
		n.Kind = '"'
		return nil
	case "!!null":
		switch n.Text {
		case "", "~", "null", "Null", "NULL":
			n.Text = "null"
		}
	case "!!bool":
		switch n.Text {
		case "true", "True", "TRUE":
			n.Text = "true"
		case "false", "False", "FALSE":
			n.Text = "false"
		}
	case "!!int", "!!float":
	default:
		return &Error{n.Position, "has a tag that JSON has no equal for: " + tag}
	}
	value := jsontext.Value(n.Text)
	if !value.IsValid() || value.Kind() == '"' || value.Kind() == '{' || value.Kind() == '[' {
		return &Error{n.Position, "is written as JSON cannot write it: " + n.Text}
	}
	n.Kind = value.Kind()
	return nil
}
