package rest_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// A parameter or a member of a request that no handler reads would be valid and have no effect, and an optional member
// of a response that none sets would always be missing. The compiler requires the others.
func TestAPI_usesEachParameterAndMember(t *testing.T) {
	t.Parallel()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo, Context: t.Context(),
	}, ".")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatal(loaded, err)
	}
	set, read, used := map[ast.Expr]bool{}, map[types.Object]bool{}, map[types.Object]bool{}
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
	for _, object := range loaded[0].TypesInfo.Uses {
		used[object] = true
	}
	imports := loaded[0].Types.Imports()
	isGenerated := func(p *types.Package) bool { return p.Path() == "github.com/avatarstudio/avatarstudio/gen" }
	generated := imports[slices.IndexFunc(imports, isGenerated)]
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
				mayMiss := verb == "sets" && !strings.Contains(members.Tag(i), ",omit") || field.Name() == "AdditionalProperties" // which are kept
				if !done[field] && !mayMiss {
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
