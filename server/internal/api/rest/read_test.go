package rest_test

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// A parameter or a member of a request that no handler reads would be valid and have no effect, and a member or header
// of a response that none sets would always be missing or zero. The compiler requires those of a constructor.
func TestAPI_usesEachParameterAndMember(t *testing.T) {
	t.Parallel()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo, Context: t.Context(),
	}, ".")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatal(loaded, err)
	}
	set, read, used, literal := map[ast.Expr]bool{}, map[types.Object]bool{}, map[types.Object]bool{}, map[types.Type]bool{}
	for _, file := range loaded[0].Syntax {
		for node := range ast.Preorder(file) {
			switch node := node.(type) {
			case *ast.AssignStmt:
				for _, left := range node.Lhs {
					set[left] = true
				}
			case *ast.CompositeLit:
				literal[loaded[0].TypesInfo.TypeOf(node)] = true
			}
		}
	}
	for expression, selection := range loaded[0].TypesInfo.Selections {
		if !set[expression] {
			read[selection.Obj()] = true
		}
	}
	for _, object := range loaded[0].TypesInfo.Uses {
		used[object] = true
	}
	generated := loaded[0].Imports["github.com/avatarstudio/avatarstudio/gen"].Types
	seen := map[types.Type]bool{}
	var check func(of types.Type, done map[types.Object]bool, verb string)
	check = func(of types.Type, done map[types.Object]bool, verb string) {
		switch of := types.Unalias(of).(type) {
		case interface{ Elem() types.Type }: // a pointer or a slice
			check(of.Elem(), done, verb)
		case *types.Named:
			for argument := range of.TypeArgs().Types() {
				check(argument, done, verb)
			}
			members, ok := of.Underlying().(*types.Struct)
			if !ok || seen[of] || of.Obj().Pkg() != generated || of.TypeArgs().Len() > 0 {
				return
			}
			seen[of] = true
			for i := range members.NumFields() {
				field := members.Field(i)
				required := verb == "sets" && !strings.Contains(members.Tag(i), ",omit") && !literal[of]
				if !done[field] && !required && field.Name() != "AdditionalProperties" { // which are kept
					t.Errorf("server/internal/api/rest: no handler %s gen.%s.%s", verb, of.Obj().Name(), field.Name())
					done[field] = true // for other types with it
				}
				check(field.Type(), done, verb)
			}
		}
	}
	api, _ := generated.Scope().Lookup("StrictServerInterface").Type().Underlying().(*types.Interface)
	for method := range api.Methods() {
		check(method.Signature().Params().At(1).Type(), read, "reads")
	}
	for _, name := range generated.Scope().Names() {
		if strings.HasSuffix(name, "200JSONResponse") || strings.HasSuffix(name, "201JSONResponse") {
			check(generated.Scope().Lookup(name).Type(), used, "sets")
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d types were found", len(seen))
	}
}
