package main

import (
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// literals converts JSON values to Go expressions of the types in package gen.
type literals struct{ gen *types.Package }

// parse returns an expression of the type with a name. It returns an error for types without a literal, such as
// time.Time.
func (l literals) parse(name string, value any) (string, error) {
	t, err := types.Eval(token.NewFileSet(), l.gen, token.NoPos, strings.ReplaceAll(name, "gen.", ""))
	if err != nil {
		return "", err
	}
	return l.of(t.Type, value)
}

// of returns an expression that keeps its type where Go infers it.
func (l literals) of(t types.Type, value any) (string, error) {
	switch t := t.(type) {
	case *types.Alias:
		return l.of(t.Rhs(), value)
	case *types.Named:
		return l.named(t, value)
	case *types.Pointer:
		inner, err := l.of(t.Elem(), value)
		return "new(" + inner + ")", err
	case *types.Slice:
		return l.list(t, value)
	case *types.Basic:
		return basicLiteral(t.Name(), value)
	}
	return "", fmt.Errorf("the type %s has no literal", t)
}

// nameOf returns the name of a type outside of package gen.
func nameOf(t types.Type) string { return types.TypeString(t, (*types.Package).Name) }

func (l literals) named(t *types.Named, value any) (string, error) {
	if t.Obj().Pkg() != l.gen {
		return "", fmt.Errorf("the type %s has no literal", t)
	}
	if t.TypeArgs().Len() == 1 { // Nullable
		of := t.TypeArgs().At(0)
		if value == nil {
			return "gen.Null[" + nameOf(of) + "]()", nil
		}
		inner, err := l.of(of, value)
		return "gen.Value(" + inner + ")", err
	}
	if fields, ok := t.Underlying().(*types.Struct); ok {
		return l.object(nameOf(t), fields, value)
	}
	inner, err := l.of(t.Underlying(), value)
	for _, name := range l.gen.Scope().Names() {
		if constant, ok := l.gen.Scope().Lookup(name).(*types.Const); ok && constant.Type() == t && constant.Val().ExactString() == inner {
			return "gen." + name, err
		}
	}
	return nameOf(t) + "(" + inner + ")", err
}

// basicLiteral returns an expression of a predeclared type.
func basicLiteral(name string, value any) (string, error) {
	switch value := value.(type) {
	case string:
		if name == "string" {
			return strconv.Quote(value), nil
		}
	case bool:
		if name == "bool" {
			return strconv.FormatBool(value), nil
		}
	case float64, int:
		text, err := json.Marshal(value)
		if name == "int" {
			return string(text), err
		}
		if strings.HasPrefix(name, "int") || strings.HasPrefix(name, "float") {
			return name + "(" + string(text) + ")", err
		}
	}
	return "", fmt.Errorf("%T is not a %s", value, name)
}

func (l literals) object(name string, fields *types.Struct, value any) (string, error) {
	members, ok := value.(map[string]any)
	if !ok {
		return "", fmt.Errorf("%T is not an object", value)
	}
	var written []string
	for i := range fields.NumFields() {
		member, _, _ := strings.Cut(reflect.StructTag(fields.Tag(i)).Get("json"), ",")
		if given, ok := members[member]; ok {
			literal, err := l.of(fields.Field(i).Type(), given)
			if err != nil {
				return "", err
			}
			written = append(written, fields.Field(i).Name()+": "+literal)
		}
	}
	switch {
	case len(written) != len(members):
		return "", fmt.Errorf("the type %s has no field for one of the members %q", name, slices.Sorted(maps.Keys(members)))
	case len(written) < 2:
		return name + "{" + strings.Join(written, "") + "}", nil
	}
	return name + "{\n" + strings.Join(written, ",\n") + ",\n}", nil
}

func (l literals) list(t *types.Slice, value any) (string, error) {
	elements, ok := value.([]any)
	if !ok {
		return "", fmt.Errorf("%T is not a %s", value, t)
	}
	written := make([]string, len(elements))
	for i, element := range elements {
		var err error
		if written[i], err = l.of(t.Elem(), element); err != nil {
			return "", err
		}
	}
	return nameOf(t) + "{" + strings.Join(written, ", ") + "}", nil
}
