package smith

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// part is a field of a form.
type part struct{ Name, Text, Type, File string }

// encodingOf returns the encoding of a field.
func (e *exchange) encodingOf(name string, described any) object {
	all, _ := e.resolve(described)["encoding"].(object)
	encoding, _ := all[name].(object)
	return encoding
}

// fieldKind returns how a field is written: as scalar, list, JSON or file.
func (e *exchange) fieldKind(name string, described any) string {
	schema := e.resolve(e.resolve(e.resolve(e.resolve(described)["schema"])["properties"])[name])
	of := schema
	kind := e.kind(schema)
	if kind == "array" {
		of = e.resolve(schema["items"])
	}
	switch {
	case kind == "object" || e.encodingOf(name, described)["contentType"] == "application/json":
		return "JSON"
	case of["format"] == "binary":
		return "file"
	case kind == "array":
		return "list"
	}
	return "scalar"
}

// fields returns the parts of a multipart form.
func (e *exchange) fields(values object, described any) []part {
	all := []part{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		kind := e.fieldKind(name, described)
		elements, isList := values[name].([]any)
		if !isList || kind == "JSON" {
			elements = []any{values[name]}
		}
		for _, one := range elements {
			p := part{Name: name, Text: textOf(one)}
			_, isObject := one.(object)
			switch {
			case kind == "JSON" || isObject:
				p.Text, p.Type = encoded(one), "application/json"
			case kind == "file":
				p.Type, p.File = "application/octet-stream", "a.bin"
				if types, ok := e.encodingOf(name, described)["contentType"].(string); ok {
					first, _, _ := strings.Cut(types, ",")
					p.Type = strings.Replace(first, "*", "png", 1)
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// multipart returns a multipart body and its media type.
func (e *exchange) multipart(values object, described any) (text, media string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range e.fields(values, described) {
		disposition := `form-data; name="` + p.Name + `"`
		if p.File != "" {
			disposition += `; filename="` + p.File + `"`
		}
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if p.Type != "" {
			header.Set("Content-Type", p.Type)
		}
		harness.Try(io.WriteString(harness.Try(w.CreatePart(header))(e), p.Text))(e)
	}
	harness.Check(e.T, w.Close())
	return b.String(), w.FormDataContentType()
}

// parts reads a multipart body.
func parts(r *multipart.Reader) ([]part, error) {
	all := []part{}
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(p)
		if err != nil {
			return nil, err
		}
		all = append(all, part{Name: p.FormName(), Text: string(text), Type: p.Header.Get("Content-Type"), File: p.FileName()})
	}
}
