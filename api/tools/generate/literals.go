package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// literals converts JSON values to Go expressions of the types in package gen.
type literals struct {
	types     map[string]*ast.TypeSpec
	constants map[string]string // names of string constants, by type and value
}

// newLiterals reads the types of package gen from their source.
func newLiterals(models []byte) (*literals, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", models, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	l := &literals{types: map[string]*ast.TypeSpec{}, constants: map[string]string{}}
	for _, declaration := range file.Decls {
		d, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				l.types[spec.Name.Name] = spec
			case *ast.ValueSpec:
				if len(spec.Values) != 1 || spec.Type == nil {
					continue
				}
				if value, ok := spec.Values[0].(*ast.BasicLit); ok {
					l.constants[types.ExprString(spec.Type)+" "+value.Value] = spec.Names[0].Name
				}
			}
		}
	}
	return l, nil
}

// of returns an expression of the type, which keeps its type where Go infers it. It returns an error for types without
// a literal, such as time.Time.
func (l *literals) of(t ast.Expr, value any) (string, error) {
	switch t := t.(type) {
	case *ast.SelectorExpr:
		if types.ExprString(t.X) == "gen" {
			return l.of(t.Sel, value)
		}
	case *ast.Ident:
		return l.named(t.Name, value)
	case *ast.StarExpr:
		inner, err := l.of(t.X, value)
		return "new(" + inner + ")", err
	case *ast.IndexExpr:
		if types.ExprString(t.X) != "Nullable" {
			break
		}
		if value == nil {
			inner, err := qualify(types.ExprString(t.Index))
			return "gen.Null[" + inner + "]()", err
		}
		inner, err := l.of(t.Index, value)
		return "gen.Value(" + inner + ")", err
	case *ast.ArrayType:
		return l.array(t, value)
	}
	return "", fmt.Errorf("the type %s has no literal", types.ExprString(t))
}

func (l *literals) named(name string, value any) (string, error) {
	spec := l.types[name]
	if spec == nil {
		return basicLiteral(name, value)
	}
	if fields, ok := spec.Type.(*ast.StructType); ok {
		return l.object(name, fields, value)
	}
	if own, ok := spec.Type.(*ast.Ident); ok && own.Name == name {
		return "", fmt.Errorf("the type %s is declared twice", name) // with the name of another
	}
	inner, err := l.of(spec.Type, value)
	if constant := l.constants[name+" "+inner]; constant != "" {
		return "gen." + constant, err
	}
	if spec.Assign.IsValid() {
		return inner, err
	}
	return "gen." + name + "(" + inner + ")", err
}

// basicLiteral returns an expression of a predeclared type.
func basicLiteral(name string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	switch given := value.(type) {
	case string:
		if name == "string" {
			return strconv.Quote(given), nil
		}
	case bool:
		if name == "bool" {
			return string(text), nil
		}
	case float64, int:
		if name == "int" {
			return string(text), nil
		}
		if strings.HasPrefix(name, "int") || strings.HasPrefix(name, "float") {
			return name + "(" + string(text) + ")", nil
		}
	}
	return "", fmt.Errorf("%T is not a %s", value, name)
}

func (l *literals) object(name string, fields *ast.StructType, value any) (string, error) {
	members, ok := value.(map[string]any)
	if !ok {
		return "", fmt.Errorf("%T is not an object", value)
	}
	var b strings.Builder
	written := 0
	for _, field := range fields.Fields.List {
		if field.Tag == nil || len(field.Names) != 1 {
			continue
		}
		tag, _ := strconv.Unquote(field.Tag.Value) // the parser accepted it
		member, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		given, ok := members[member]
		if !ok {
			continue
		}
		literal, err := l.of(field.Type, given)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s: %s,\n", field.Names[0].Name, literal)
		written++
	}
	if written != len(members) {
		return "", fmt.Errorf("the type %s has no field for one of the members %q", name, slices.Sorted(maps.Keys(members)))
	}
	if written < 2 {
		return "gen." + name + "{" + strings.TrimSuffix(b.String(), ",\n") + "}", nil
	}
	return "gen." + name + "{\n" + b.String() + "}", nil
}

func (l *literals) array(t *ast.ArrayType, value any) (string, error) {
	elements, ok := value.([]any)
	if !ok || t.Len != nil {
		return "", fmt.Errorf("%T is not a %s", value, types.ExprString(t))
	}
	of, err := qualify(types.ExprString(t))
	if err != nil {
		return "", err
	}
	written := make([]string, len(elements))
	for i, element := range elements {
		if written[i], err = l.of(t.Elt, element); err != nil {
			return "", err
		}
	}
	return of + "{" + strings.Join(written, ", ") + "}", nil
}
