package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

//go:embed encoders.tmpl
var encodersSource string

// encoder describes the method that writes a type as JSON.
type encoder struct{ Type, Code string }

// encoders describes a method for each type of package gen that is part of a response, and for each type that keeps
// unknown members. Unsupported types are encoded by encoding/json.
func (f files) encoders() ([]encoder, error) {
	p := encoderPlan{types: map[string]*ast.TypeSpec{}, marshalers: map[string]bool{}, done: map[string]string{}}
	file, err := parser.ParseFile(token.NewFileSet(), "", f["gen/api.gen.go"], parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	p.add(file)
	for len(p.wanted) > 0 {
		name := p.wanted[0]
		p.wanted = p.wanted[1:]
		if _, ok := p.done[name]; ok {
			continue
		}
		p.done[name] = ""
		code, err := p.method(name)
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", name, err)
		}
		p.done[name] = code
	}
	var all []encoder
	for _, name := range slices.Sorted(maps.Keys(p.done)) {
		all = append(all, encoder{name, p.done[name]})
	}
	return all, nil
}

// encoderPlan collects the types of package gen and their methods.
type encoderPlan struct {
	types      map[string]*ast.TypeSpec
	marshalers map[string]bool   // types with a method MarshalJSON
	wanted     []string          // types that need a method
	done       map[string]string // bodies of methods, by type
}

// add records the types of a file, and the types that its methods write with an encoder.
func (p *encoderPlan) add(file *ast.File) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					p.types[t.Name.Name] = t
				}
			}
		case *ast.FuncDecl:
			if d.Recv != nil && d.Name.Name == "MarshalJSON" {
				p.marshalers[source(d.Recv.List[0].Type)] = true
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if called, ok := n.(*ast.SelectorExpr); ok {
					if name, ok := strings.CutPrefix(called.Sel.Name, "encode"); ok && source(called.X) == "to" {
						p.wanted = append(p.wanted, name)
					}
				}
				return true
			})
		}
	}
}

// method returns the body of the method that writes v, a pointer to the named type.
func (p *encoderPlan) method(name string) (string, error) {
	spec := p.types[name]
	if spec == nil {
		return "", errors.New("not declared")
	}
	var b strings.Builder
	fields, isStruct := spec.Type.(*ast.StructType)
	switch {
	case isStruct && fieldNamed(fields, "Body") != nil && fieldNamed(fields, "Body").Tag == nil:
		p.value(&b, fieldNamed(fields, "Body").Type, "v.Body")
	case isStruct && len(fields.Fields.List) == 1 && len(fields.Fields.List[0].Names) == 0:
		p.value(&b, fields.Fields.List[0].Type, "v."+source(fields.Fields.List[0].Type))
	case isStruct && fieldNamed(fields, "union") != nil && !p.marshalers[name]:
		b.WriteString("to.any(v.union)\n")
	case isStruct:
		return p.object(fields, "v", p.keepsOthers(name)), nil
	default:
		p.defined(&b, spec, "(*v)")
	}
	return b.String(), nil
}

// keepsOthers reports whether a type keeps unknown members in AdditionalProperties.
func (p *encoderPlan) keepsOthers(name string) bool {
	fields, _ := p.types[name].Type.(*ast.StructType)
	field := fieldNamed(fields, "AdditionalProperties")
	return field != nil && strings.HasPrefix(source(field.Type), "map[string]") && fieldNamed(fields, "union") == nil
}

// value appends the code that writes an expression of a type.
func (p *encoderPlan) value(b *strings.Builder, of ast.Expr, expression string) {
	switch t := of.(type) {
	case *ast.Ident:
		p.named(b, t.Name, expression)
	case *ast.StarExpr:
		fmt.Fprintf(b, "if %s == nil {\nto.null()\n} else {\n", expression)
		p.value(b, t.X, "(*"+expression+")")
		b.WriteString("}\n")
	case *ast.ArrayType:
		if element := source(t.Elt); t.Len != nil || element == "byte" || element == "uint8" {
			p.unknown(b, expression)
			return
		}
		fmt.Fprintf(b, "to.text = append(to.text, '[')\nfor i := range %s {\nto.comma('[')\nelement := &%[1]s[i]\n", expression)
		p.value(b, t.Elt, "(*element)")
		b.WriteString("}\nto.text = append(to.text, ']')\n")
	case *ast.MapType:
		if source(t.Key) != "string" {
			p.unknown(b, expression)
			return
		}
		fmt.Fprintf(b, "to.text = append(to.text, '{')\nfor _, name := range sortedNames(%s) {\nto.nameOf(name)\nelement := %[1]s[name]\n", expression)
		p.value(b, t.Value, "element")
		b.WriteString("}\nto.text = append(to.text, '}')\n")
	case *ast.StructType:
		if code := p.object(t, expression, false); code != "" {
			b.WriteString(code)
		}
	case *ast.IndexExpr:
		if source(t.X) != "Nullable" {
			p.unknown(b, expression)
			return
		}
		p.value(b, &ast.StarExpr{X: t.Index}, expression+".Value")
	default:
		if source(of) == "time.Time" {
			fmt.Fprintf(b, "to.time(%s)\n", unparen(expression))
			return
		}
		p.unknown(b, expression)
	}
}

// unknown appends a call that writes an expression with encoding/json.
func (p *encoderPlan) unknown(b *strings.Builder, expression string) {
	fmt.Fprintf(b, "to.any(%s)\n", unparen(expression))
}

// named appends the code that writes an expression of a named type.
func (p *encoderPlan) named(b *strings.Builder, name, expression string) {
	switch spec := p.types[name]; {
	case spec == nil:
		p.basic(b, name, expression)
	case spec.Assign.IsValid():
		p.value(b, spec.Type, expression)
	case p.marshalers[name] && !p.keepsOthers(name), p.reaches(spec.Type, name, map[string]bool{}):
		p.unknown(b, expression)
	case isStruct(spec.Type):
		p.wanted = append(p.wanted, name)
		fmt.Fprintf(b, "to.encode%s(%s)\n", name, addressOf(expression))
	default:
		p.defined(b, spec, expression)
	}
}

// defined appends the code that writes an expression of a type that is defined as another type.
func (p *encoderPlan) defined(b *strings.Builder, spec *ast.TypeSpec, expression string) {
	if other, ok := spec.Type.(*ast.Ident); ok && p.types[other.Name] != nil && isStruct(p.underlying(other)) {
		if p.marshalers[other.Name] && !p.marshalers[spec.Name.Name] {
			p.unknown(b, expression) // a defined type does not inherit methods
			return
		}
		expression = fmt.Sprintf("(*(*%s)(%s))", other.Name, addressOf(expression))
	}
	if foreign, ok := spec.Type.(*ast.SelectorExpr); ok { // as above
		expression = fmt.Sprintf("%s(%s)", source(foreign), unparen(expression))
	}
	p.value(b, spec.Type, expression)
}

// basic appends the code that writes an expression of a predeclared type.
func (p *encoderPlan) basic(b *strings.Builder, name, expression string) {
	switch name {
	case "string", "bool":
		fmt.Fprintf(b, "to.%s(%[1]s(%s))\n", name, unparen(expression))
	case "int", "int8", "int16", "int32", "int64":
		fmt.Fprintf(b, "to.int(int64(%s))\n", unparen(expression))
	case "uint", "uint8", "uint16", "uint32", "uint64":
		fmt.Fprintf(b, "to.uint(uint64(%s))\n", unparen(expression))
	case "float32", "float64":
		fmt.Fprintf(b, "to.float(float64(%s), %s)\n", unparen(expression), strings.TrimPrefix(name, "float"))
	default:
		p.unknown(b, expression)
	}
}

// reaches reports whether a type contains the named type. Values of a type that contains itself can be cyclic.
func (p *encoderPlan) reaches(from ast.Expr, name string, seen map[string]bool) (found bool) {
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // a type of another package
			return false
		case *ast.Field: // the name of a field is not a type
			ast.Inspect(n.Type, visit)
			return false
		case *ast.Ident:
			spec := p.types[n.Name]
			found = found || n.Name == name || spec != nil && !seen[n.Name] && func() bool {
				seen[n.Name] = true
				return p.reaches(spec.Type, name, seen)
			}()
		}
		return !found
	}
	ast.Inspect(from, visit)
	return found
}

// member is a field of a struct with its name in JSON.
type member struct {
	field      *ast.Field
	name       string
	expression string
	given      string // condition under which the member is written, or empty
}

// object returns the code that writes a struct. Members are in the order of the fields, or sorted by name
// if the type keeps unknown members.
func (p *encoderPlan) object(of *ast.StructType, expression string, keepsOthers bool) string {
	var b strings.Builder
	members, ok := p.members(of, expression, keepsOthers)
	if !ok {
		p.unknown(&b, expression)
		return b.String()
	}
	b.WriteString("to.text = append(to.text, '{')\n")
	if keepsOthers {
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		b.WriteString("others := sortedNames(" + expression + ".AdditionalProperties)\n")
	}
	for _, m := range members {
		if m.given != "" {
			b.WriteString("if " + m.given + " {\n")
		}
		if keepsOthers {
			fmt.Fprintf(&b, "others = othersBefore(to, %q, others, %s.AdditionalProperties)\n", m.name, expression)
		}
		quoted, _ := json.Marshal(m.name) // strings always marshal
		literal := strconv.Quote(string(quoted) + ":")
		if strconv.CanBackquote(string(quoted)) {
			literal = "`" + string(quoted) + ":`"
		}
		fmt.Fprintf(&b, "to.name(%s)\n", literal)
		inner := m.field.Type
		if star, ok := inner.(*ast.StarExpr); ok && m.given != "" {
			inner, m.expression = star.X, "(*"+m.expression+")"
		}
		p.value(&b, inner, m.expression)
		if m.given != "" {
			b.WriteString("}\n")
		}
	}
	if keepsOthers {
		b.WriteString("writeOthers(to, others, " + expression + ".AdditionalProperties)\n")
	}
	b.WriteString("to.text = append(to.text, '}')\n")
	return b.String()
}

// members returns the members that encoding/json would write. It returns false if only encoding/json can
// tell.
func (p *encoderPlan) members(of *ast.StructType, expression string, keepsOthers bool) (members []member, ok bool) {
	for _, field := range of.Fields.List {
		tag := ""
		if field.Tag != nil {
			text, _ := strconv.Unquote(field.Tag.Value) // the parser accepted it
			tag = reflect.StructTag(text).Get("json")
		}
		if tag == "-" {
			continue
		}
		if len(field.Names) != 1 || !field.Names[0].IsExported() {
			return nil, false
		}
		name, options, _ := strings.Cut(tag, ",")
		m := member{field: field, name: name, expression: expression + "." + field.Names[0].Name}
		if name == "" {
			m.name = field.Names[0].Name
		}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
			case "omitempty":
				m.given = p.notEmpty(field.Type, m.expression, keepsOthers)
			case "omitzero":
				m.given = p.notZero(field.Type, m.expression)
			default:
				return nil, false
			}
		}
		members = append(members, m)
	}
	return members, true
}

// notEmpty returns the condition under which omitempty writes a field. A type that keeps unknown members
// omits only nil fields.
func (p *encoderPlan) notEmpty(of ast.Expr, expression string, keepsOthers bool) (condition string) {
	switch t := p.underlying(of).(type) {
	case *ast.StarExpr, *ast.InterfaceType:
		return expression + " != nil"
	case *ast.ArrayType, *ast.MapType:
		if keepsOthers {
			return expression + " != nil"
		}
		return "len(" + expression + ") != 0"
	case *ast.StructType:
		return ""
	case *ast.Ident:
		switch {
		case keepsOthers:
			return ""
		case t.Name == "string":
			return expression + ` != ""`
		case t.Name == "bool":
			return "bool(" + expression + ")"
		case strings.HasPrefix(t.Name, "int"), strings.HasPrefix(t.Name, "uint"), strings.HasPrefix(t.Name, "float"):
			return expression + " != 0"
		}
	}
	return "!isEmpty(" + expression + ")"
}

// notZero returns the condition under which omitzero writes a field.
func (p *encoderPlan) notZero(of ast.Expr, expression string) (condition string) {
	switch t := of.(type) {
	case *ast.StarExpr, *ast.ArrayType, *ast.MapType:
		return expression + " != nil"
	case *ast.IndexExpr:
		if source(t.X) == "Nullable" {
			return "!" + expression + ".IsZero()"
		}
	case *ast.SelectorExpr:
		if source(of) == "time.Time" {
			return "!" + expression + ".IsZero()"
		}
	}
	return "!isZero(" + expression + ")"
}

// underlying resolves type names and returns the underlying type.
func (p *encoderPlan) underlying(of ast.Expr) ast.Expr {
	for range len(p.types) {
		name, ok := of.(*ast.Ident)
		if !ok || p.types[name.Name] == nil {
			break
		}
		of = p.types[name.Name].Type
	}
	return of
}

// addressOf returns the source of a pointer to an expression.
func addressOf(expression string) string {
	if pointer, ok := strings.CutPrefix(unparen(expression), "*"); ok {
		return pointer
	}
	return "&" + expression
}

// unparen removes the outer parentheses of an expression.
func unparen(expression string) string {
	if strings.HasPrefix(expression, "(*") && strings.HasSuffix(expression, ")") {
		return expression[1 : len(expression)-1]
	}
	return expression
}

func isStruct(of ast.Expr) bool {
	_, ok := of.(*ast.StructType)
	return ok
}

func fieldNamed(of *ast.StructType, name string) *ast.Field {
	if of == nil {
		return nil
	}
	for _, field := range of.Fields.List {
		if len(field.Names) == 1 && field.Names[0].Name == name {
			return field
		}
	}
	return nil
}

// source returns the source text of an expression.
func source(of ast.Expr) string {
	var b strings.Builder
	_ = printer.Fprint(&b, token.NewFileSet(), of) // a strings.Builder never fails
	return b.String()
}
