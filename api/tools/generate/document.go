package main

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// What an element has for people only, what contains values of its own, and the elements that are maps, whose keys are
// names.
const (
	forPeople = "summary description example examples externalDocs x-interface"
	values    = "const default enum"
	keyed     = `callbacks content dependentRequired dependentSchemas encoding headers links mapping parameters pathItems paths
		patternProperties properties requestBodies responses schemas scopes securitySchemes variables webhooks $defs`
)

// serverDocument returns a document in JSON without what the server does not need, which is more than half of it. The
// server loads it at each start. The description of a response, which must have one, is empty.
func serverDocument(document []byte) ([]byte, error) {
	var to bytes.Buffer
	// Long lines would hide what a search finds in other files.
	c := copier{jsontext.NewDecoder(bytes.NewReader(document)), jsontext.NewEncoder(&to, jsontext.WithIndent(""))}
	err := c.value("", false)
	return to.Bytes(), err
}

type copier struct {
	from *jsontext.Decoder
	to   *jsontext.Encoder
}

// value copies a value. isMap is true if its keys are names. in is the map that contains the value, or "".
func (c copier) value(in string, isMap bool) error {
	if kind := c.from.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray {
		return c.copy()
	}
	object := c.from.PeekKind() == jsontext.KindBeginObject
	err := c.copyToken()
	for err == nil {
		switch kind := c.from.PeekKind(); {
		case kind == jsontext.KindEndObject || kind == jsontext.KindEndArray:
			return c.copyToken()
		case object:
			err = c.member(in, isMap)
		default:
			err = c.value("", false)
		}
	}
	return err
}

// member copies a member of an object, unless it is for people.
func (c copier) member(in string, isMap bool) error {
	token, err := c.from.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	if !isMap && hasWord(forPeople, name) {
		if err := c.from.SkipValue(); err != nil || in != "responses" || name != "description" {
			return err
		}
		return errors.Join(c.to.WriteToken(jsontext.String(name)), c.to.WriteToken(jsontext.String("")))
	}
	if err := c.to.WriteToken(token); err != nil {
		return err
	}
	switch {
	case isMap:
		return c.value(in, false)
	case hasWord(values, name):
		return c.copy()
	case hasWord(keyed, name):
		return c.value(name, true)
	default:
		return c.value("", false)
	}
}

func (c copier) copy() error {
	value, err := c.from.ReadValue()
	if err != nil {
		return err
	}
	return c.to.WriteValue(value)
}

func (c copier) copyToken() error {
	token, err := c.from.ReadToken()
	if err != nil {
		return err
	}
	return c.to.WriteToken(token)
}
