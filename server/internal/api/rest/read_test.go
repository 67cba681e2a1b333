package rest_test

import (
	"go/ast"
	"go/types"
	"testing"

	"golang.org/x/tools/go/packages"
)

// A parameter or a member of a request that no handler reads would be valid and have no effect.
func TestAPI_readsEachParameterAndMember(t *testing.T) {
	t.Parallel()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo, Context: t.Context(),
	}, ".")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatal(loaded, err)
	}
	fields := unreadFields{read: fieldsReadIn(loaded[0]), seen: map[types.Type]bool{}}
	for _, imported := range loaded[0].Types.Imports() {
		if imported.Path() == "github.com/avatarstudio/avatarstudio/gen" {
			fields.gen = imported
		}
	}
	api, _ := fields.gen.Scope().Lookup("StrictServerInterface").Type().Underlying().(*types.Interface)
	for method := range api.Methods() {
		fields.add(method.Signature().Params().At(1).Type())
	}
	for _, name := range fields.unread {
		t.Errorf("server/internal/api/rest: no handler reads gen.%s", name)
	}
	if len(fields.seen) < 40 {
		t.Errorf("only %d types of requests were found", len(fields.seen))
	}
}

// fieldsReadIn returns the fields that a package selects, but not those that it only sets.
func fieldsReadIn(p *packages.Package) map[types.Object]bool {
	set, read := map[ast.Expr]bool{}, map[types.Object]bool{}
	for _, file := range p.Syntax {
		ast.Inspect(file, func(node ast.Node) bool {
			if assignment, ok := node.(*ast.AssignStmt); ok {
				for _, left := range assignment.Lhs {
					set[left] = true
				}
			}
			return true
		})
	}
	for expression, selection := range p.TypesInfo.Selections {
		if !set[expression] {
			read[selection.Obj()] = true
		}
	}
	return read
}

// unreadFields collects the fields of generated types that are not read.
type unreadFields struct {
	gen    *types.Package
	read   map[types.Object]bool
	seen   map[types.Type]bool
	unread []string
}

// add collects the fields of a type and of the types in it. Members that the document does not name are kept, and not
// read.
func (f *unreadFields) add(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		f.add(t.Elem())
	case *types.Slice:
		f.add(t.Elem())
	case *types.Named:
		for argument := range t.TypeArgs().Types() {
			f.add(argument)
		}
		members, ok := t.Underlying().(*types.Struct)
		if !ok || f.seen[t] || t.Obj().Pkg() != f.gen || t.TypeArgs().Len() > 0 {
			return
		}
		f.seen[t] = true
		for field := range members.Fields() {
			if !f.read[field] && field.Name() != "AdditionalProperties" {
				f.unread = append(f.unread, t.Obj().Name()+"."+field.Name())
			}
			f.add(field.Type())
		}
	}
}
