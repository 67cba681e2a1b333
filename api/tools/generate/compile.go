package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// compile type-checks the generated files, together with the other files of their packages. It returns an error for
// each element of the document whose code does not compile. Errors in other files are not returned: they are to be
// corrected after an edit of the document.
func (f files) compile(n *names) (*compilation, error) {
	c := &compilation{files: f, fset: token.NewFileSet(), syntax: map[string][]*ast.File{}, imported: map[string]*types.Package{}}
	imports := map[string]bool{"log": true} // for the samples
	for _, directory := range c.roots() {
		if err := c.parse(directory); err != nil {
			return nil, err
		}
		for _, file := range c.syntax[directory] {
			for _, spec := range file.Imports {
				path, _ := strconv.Unquote(spec.Path.Value) // the parser accepted it
				imports[path] = !slices.Contains(c.roots(), strings.TrimPrefix(path, module))
			}
		}
	}
	maps.DeleteFunc(imports, func(_ string, foreign bool) bool { return !foreign })
	if err := c.load(imports); err != nil {
		return nil, err
	}
	for _, name := range c.roots() {
		c.imported[module+name] = c.check(module+name, c.syntax[name])
	}
	return c, c.blame(n)
}

// blame returns the errors of elements whose code does not compile.
func (c *compilation) blame(n *names) error {
	isRepeated := func(e compileError) bool { return repeated.MatchString(e.text) }
	if slices.ContainsFunc(c.errs, isRepeated) { // the other errors follow from it
		c.errs = slices.DeleteFunc(c.errs, func(e compileError) bool { return !isRepeated(e) })
	}
	for _, e := range c.errs {
		n.blame(e)
	}
	return n.err()
}

// repeated matches the errors about a name that is declared twice.
var repeated = regexp.MustCompile(`redeclared|already declared|with the same name`)

const module = "github.com/avatarstudio/avatarstudio/"

// compilation type-checks packages of the module.
type compilation struct {
	files    files
	fset     *token.FileSet
	syntax   map[string][]*ast.File    // by directory
	imported map[string]*types.Package // by import path
	errs     []compileError
	added    bool // the last error was added
}

// compileError is an error in a generated file.
type compileError struct {
	file, text string
	names      []string // the identifier with the error, and the names of the declarations around it
}

// roots returns the directories with generated packages. Each imports only those before it.
func (*compilation) roots() []string { return []string{"gen", "client/webhook", "client", "server"} }

// load loads the types of packages, with those that were loaded before, because types of different loads are not
// identical.
func (c *compilation) load(paths map[string]bool) error {
	for path := range paths {
		if foreign[path] != nil {
			continue
		}
		for path := range foreign {
			paths[path] = true
		}
		config := &packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedExportFile}
		loaded, err := packages.Load(config, slices.Sorted(maps.Keys(paths))...)
		if err != nil {
			return err
		}
		for _, p := range loaded {
			foreign[p.PkgPath] = p.Types
		}
		break
	}
	maps.Copy(c.imported, foreign)
	return nil
}

// foreign has the types of the packages that were loaded, by import path. To load them takes most of the time of the
// tests, which generate the code of many documents.
//
//nolint:gochecknoglobals // like the settings of oapi-codegen, which allow one document at a time too
var foreign = map[string]*types.Package{}

// parse parses the files of a package. The generated files are the last, so that they have the error if a name is
// declared twice.
func (c *compilation) parse(directory string) error {
	found, err := build.ImportDir(directory, 0)
	if none := (*build.NoGoError)(nil); err != nil && !errors.As(err, &none) {
		return err
	}
	sources := map[string]any{}
	for _, name := range found.GoFiles {
		if file := path.Join(directory, name); !isGenerated(file) {
			sources[file] = nil
		}
	}
	names := slices.Sorted(maps.Keys(sources))
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if path.Dir(name) == directory && path.Ext(name) == ".go" {
			names, sources[name] = append(names, name), c.files[name]
		}
	}
	for _, name := range names {
		file, err := parser.ParseFile(c.fset, name, sources[name], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		c.syntax[directory] = append(c.syntax[directory], file)
	}
	return nil
}

// Import implements [types.Importer].
func (c *compilation) Import(path string) (*types.Package, error) {
	if p := c.imported[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("not loaded")
}

// check type-checks a package and records the errors in its generated files.
func (c *compilation) check(path string, syntax []*ast.File) *types.Package {
	config := types.Config{Importer: c, Error: func(err error) {
		if found, ok := errors.AsType[types.Error](err); ok {
			c.add(found, syntax)
		}
	}}
	p, _ := config.Check(path, c.fset, syntax, nil) // the errors are recorded
	return p
}

// add records an error if it is in a generated file. An error that begins with a tab shows another place of the one
// before it.
func (c *compilation) add(err types.Error, syntax []*ast.File) {
	if detail, ok := strings.CutPrefix(err.Msg, "\t"); ok {
		if c.added {
			c.errs[len(c.errs)-1].text += ", " + detail + " in " + c.fset.Position(err.Pos).Filename
		}
		return
	}
	c.added = false
	for _, file := range syntax {
		name := c.fset.Position(file.FileStart).Filename
		if c.files[name] == nil || err.Pos < file.FileStart || err.Pos > file.FileEnd {
			continue
		}
		e := compileError{file: name, text: err.Msg}
		path, _ := astutil.PathEnclosingInterval(file, err.Pos, err.Pos)
		for _, node := range path {
			switch node := node.(type) {
			case *ast.Ident:
				e.names = append(e.names, node.Name)
			case *ast.FuncDecl:
				if node.Recv != nil {
					e.names = append(e.names, strings.TrimPrefix(types.ExprString(node.Recv.List[0].Type), "*"))
				}
				e.names = append(e.names, node.Name.Name)
			case *ast.ValueSpec:
				e.names = append(e.names, node.Names[0].Name)
			case *ast.TypeSpec:
				e.names = append(e.names, node.Name.Name)
			}
		}
		c.errs, c.added = append(c.errs, e), true
	}
}

// blame reports the element of the document whose code has an error, unless it has been reported.
func (n *names) blame(err compileError) {
	e, operation := n.typeOf(err), n.operationOf(err)
	switch {
	case e.what == "" && operation.what == "":
		e = element{what: "the document", at: openapi3.Location{Line: 1, Column: 1}, fix: "see " + err.file}
	case e.what == "":
		e = operation
	case operation.what != "":
		err.text += "; see also " + operation.see()
	}
	if (strings.HasPrefix(err.text, "undefined: ") || strings.HasPrefix(err.text, "invalid recursive type")) && e.schema != nil {
		e.fix = fixGoType
	}
	if strings.HasSuffix(err.text, "(overflows)") {
		e.fix = "remove it, or choose another format"
	}
	if blamed := fmt.Sprint(e.what, e.at.Line); !slices.Contains(n.blamed, blamed) {
		n.blamed = append(n.blamed, blamed)
		n.fail(e.at, "the code for %s does not compile (%s): %s", e.what, err.text, e.fix)
	}
}

// typeOf returns the element for which package gen declares a type or constant with one of the names of an error.
func (n *names) typeOf(err compileError) element {
	if !strings.HasPrefix(err.file, "gen/") {
		return element{}
	}
	for _, name := range err.names {
		for _, e := range n.declared[name] {
			return e.member(err.names)
		}
	}
	return element{}
}

// operationOf returns the operation whose name is part of one of the names of an error.
func (n *names) operationOf(err compileError) element {
	longest := ""
	for _, name := range err.names {
		for id := range n.operations {
			if len(id) > len(longest) && strings.Contains(name, id) {
				longest = id
			}
		}
	}
	return n.operations[longest]
}

// member returns the property of e whose field is one of the names, or e.
func (e element) member(of []string) element {
	if e.schema == nil {
		return e
	}
	for name, ref := range sorted(e.schema.Properties) {
		if given, ok := ref.Value.Extensions["x-go-type"].(string); ok && slices.Contains(of, given) || slices.Contains(of, fieldName(name, ref)) {
			return element{what: fmt.Sprintf("the property %q", name), at: locate(originOf(ref)), fix: fixName, schema: ref.Value}
		}
	}
	return e
}
