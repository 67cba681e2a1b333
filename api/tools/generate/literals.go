package main

import (
	"encoding/json"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"strings"
)

// literals converts JSON values to Go expressions of the types in package gen.
type literals struct{ gen *types.Package }

// parse returns an expression of the type with a name. It returns false for types without a literal, such as time.Time.
func (l literals) parse(name string, value any) (literal string, ok bool) {
	t, err := types.Eval(token.NewFileSet(), l.gen, token.NoPos, strings.ReplaceAll(name, "gen.", ""))
	if err != nil { // a type of another package
		return "", false
	}
	return l.of(t.Type, value)
}

// of returns an expression that keeps its type where Go infers it.
func (l literals) of(t types.Type, value any) (literal string, ok bool) {
	switch t := t.(type) {
	case *types.Alias:
		return l.of(t.Rhs(), value)
	case *types.Named:
		return l.named(t, value)
	case *types.Pointer:
		inner, ok := l.of(t.Elem(), value)
		return "new(" + inner + ")", ok
	case *types.Slice:
		return l.list(t, value)
	case *types.Basic:
		return basicLiteral(t.Name(), value)
	}
	return "", false
}

// nameOf returns the name of a type outside of package gen.
func nameOf(t types.Type) string { return types.TypeString(t, (*types.Package).Name) }

func (l literals) named(t *types.Named, value any) (literal string, ok bool) {
	if t.Obj().Pkg() != l.gen {
		return "", false
	}
	if t.TypeArgs().Len() == 1 { // Nullable
		of := t.TypeArgs().At(0)
		if value == nil {
			return "gen.Null[" + nameOf(of) + "]()", true
		}
		inner, ok := l.of(of, value)
		return "gen.Value(" + inner + ")", ok
	}
	if fields, ok := t.Underlying().(*types.Struct); ok {
		return l.object(nameOf(t), fields, value)
	}
	inner, ok := l.of(t.Underlying(), value)
	for _, name := range l.gen.Scope().Names() {
		if constant, isConst := l.gen.Scope().Lookup(name).(*types.Const); isConst && constant.Type() == t && constant.Val().ExactString() == inner {
			return "gen." + name, ok
		}
	}
	return nameOf(t) + "(" + inner + ")", ok
}

// basicLiteral returns an expression of a predeclared type.
func basicLiteral(name string, value any) (literal string, ok bool) {
	switch value := value.(type) {
	case string:
		return strconv.Quote(value), name == "string"
	case bool:
		return strconv.FormatBool(value), name == "bool"
	case float64, int:
		text := string(must(json.Marshal(value)))
		if name == "int" {
			return text, true
		}
		return name + "(" + text + ")", strings.HasPrefix(name, "int") || strings.HasPrefix(name, "float")
	}
	return "", false
}

func (l literals) object(name string, fields *types.Struct, value any) (literal string, ok bool) {
	members, _ := value.(map[string]any)
	var written []string
	for i := range fields.NumFields() {
		member, _, _ := strings.Cut(reflect.StructTag(fields.Tag(i)).Get("json"), ",")
		if given, ok := members[member]; ok {
			literal, ok := l.of(fields.Field(i).Type(), given)
			if !ok {
				return "", false
			}
			written = append(written, fields.Field(i).Name()+": "+literal)
		}
	}
	ok = members != nil && len(written) == len(members) // or there is a member without a field
	if len(written) < 2 {
		return name + "{" + strings.Join(written, "") + "}", ok
	}
	return name + "{\n" + strings.Join(written, ",\n") + ",\n}", ok
}

func (l literals) list(t *types.Slice, value any) (literal string, ok bool) {
	elements, ok := value.([]any)
	written := make([]string, len(elements))
	for i, element := range elements {
		if written[i], ok = l.of(t.Elem(), element); !ok {
			return "", false
		}
	}
	return nameOf(t) + "{" + strings.Join(written, ", ") + "}", ok
}
