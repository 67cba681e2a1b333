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
	set, read := map[ast.Expr]bool{}, map[types.Object]bool{}
	for _, file := range loaded[0].Syntax {
		for node := range ast.Preorder(file) {
			if assignment, ok := node.(*ast.AssignStmt); ok {
				for _, left := range assignment.Lhs {
					set[left] = true
				}
			}
		}
	}
	for expression, selection := range loaded[0].TypesInfo.Selections {
		if !set[expression] {
			read[selection.Obj()] = true
		}
	}
	var generated *types.Package
	for _, imported := range loaded[0].Types.Imports() {
		if imported.Path() == "github.com/avatarstudio/avatarstudio/gen" {
			generated = imported
		}
	}
	seen := map[types.Type]bool{}
	var check func(of types.Type)
	check = func(of types.Type) {
		switch of := types.Unalias(of).(type) {
		case interface{ Elem() types.Type }: // a pointer or a slice
			check(of.Elem())
		case *types.Named:
			for argument := range of.TypeArgs().Types() {
				check(argument)
			}
			members, ok := of.Underlying().(*types.Struct)
			if !ok || seen[of] || of.Obj().Pkg() != generated || of.TypeArgs().Len() > 0 {
				return
			}
			seen[of] = true
			for field := range members.Fields() {
				if !read[field] && field.Name() != "AdditionalProperties" { // which are kept
					t.Errorf("server/internal/api/rest: no handler reads gen.%s.%s", of.Obj().Name(), field.Name())
				}
				check(field.Type())
			}
		}
	}
	api, _ := generated.Scope().Lookup("StrictServerInterface").Type().Underlying().(*types.Interface)
	for method := range api.Methods() {
		check(method.Signature().Params().At(1).Type())
	}
	if len(seen) < 40 {
		t.Errorf("only %d types of requests were found", len(seen))
	}
}
