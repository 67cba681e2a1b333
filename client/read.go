package client

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/rawjson"
)

// maxLeftOut limits [Response].LeftOut.
const maxLeftOut = 1000

// read decodes content. It tries encoding/json first, then encoding/json with all times rewritten to RFC
// 3339, and then decodes member by member. It returns the JSON pointers of the members it omitted. It
// returns false if a required member of the top level cannot be decoded or content is not a T at all.
func read[T any](content []byte) (value *T, leftOut []string, ok bool) {
	value = new(T)
	leftOut, ok = readInto(content, value)
	return value, leftOut, ok
}

// readInto is like read. It gets a pointer to a zero value.
func readInto(content []byte, into any) (leftOut []string, ok bool) {
	if json.Unmarshal(content, into) == nil {
		return nil, string(bytes.TrimSpace(content)) != "null"
	}
	if !json.Valid(content) {
		return nil, false
	}
	names := map[string]bool{}
	value := reflect.ValueOf(into).Elem()
	addTimeNames(value.Type(), names, map[reflect.Type]bool{})
	content = rewriteTimes(content, names)
	value.SetZero() // encoding/json may have decoded a part
	if json.Unmarshal(content, into) == nil {
		return nil, true
	}
	value.SetZero()
	r := &reader{}
	ok = r.value(content, value)
	return r.leftOut, ok
}

// reader decodes content that encoding/json cannot decode.
type reader struct {
	path    []string // names and indexes that lead to the current value
	leftOut []string
}

// addTimeNames adds the names of all members of t with the type time.Time, at any depth.
func addTimeNames(t reflect.Type, names map[string]bool, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for field := range t.Fields() {
		if field.Type == reflect.TypeFor[time.Time]() || field.Type == reflect.TypeFor[*time.Time]() {
			names[nameOf(field)] = true
		}
		addTimeNames(field.Type, names, seen)
	}
}

func nameOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// rewriteTimes returns content with the times of the named members rewritten to RFC 3339. It helps with
// services that write all times in another format, because decoding a list member by member takes several
// times as long.
func rewriteTimes(content []byte, names map[string]bool) []byte {
	rewritten := make([]byte, 0, len(content)+len(content)/16)
	kept := 0 // content before this offset is in rewritten
	for at := bytes.IndexByte(content, '"'); at >= 0; {
		end, _ := rawjson.String(content, at)
		value := rawjson.Space(content, end)
		if value < len(content) && content[value] == ':' {
			value = rawjson.Space(content, value+1)
			if content[value] == '"' && names[string(content[at+1:end-1])] {
				end, _ = rawjson.String(content, value)
				if t, ok := parseDateTime(string(content[value+1 : end-1])); ok {
					rewritten = append(rewritten, content[kept:value+1]...)
					rewritten = t.AppendFormat(rewritten, time.RFC3339Nano)
					kept = end - 1
				}
			}
		}
		next := bytes.IndexByte(content[end:], '"')
		if next < 0 {
			break
		}
		at = end + next
	}
	return append(rewritten, content[kept:]...)
}

// value decodes content into target. It leaves target zero if it fails.
func (r *reader) value(content []byte, target reflect.Value) bool {
	kind := target.Kind()
	if kind == reflect.Pointer {
		if string(content) == "null" {
			return true
		}
		pointed := reflect.New(target.Type().Elem())
		if !r.value(content, pointed.Elem()) {
			return false
		}
		target.Set(pointed)
		return true
	}
	if len(r.path) > 0 && json.Unmarshal(content, target.Addr().Interface()) == nil {
		return true
	}
	target.SetZero() // encoding/json may have decoded a part
	switch {
	case target.Type() == reflect.TypeFor[time.Time]():
		return readTime(content, target)
	case reflect.PointerTo(target.Type()).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return false
	case kind == reflect.Struct:
		return r.object(content, target)
	case kind == reflect.Slice:
		return r.array(content, target)
	}
	return false
}

func readTime(content []byte, target reflect.Value) bool {
	var text string
	if json.Unmarshal(content, &text) != nil {
		return false
	}
	t, ok := parseDateTime(text)
	if ok {
		target.Set(reflect.ValueOf(t))
	}
	return ok
}

func (r *reader) object(content []byte, target reflect.Value) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(content, &members) != nil {
		return false
	}
	for field, value := range target.Fields() {
		name := nameOf(field)
		member, sent := members[name]
		if !sent || r.member(name, member, value) {
			continue
		}
		if len(r.path) == 0 && field.Type.Kind() != reflect.Pointer {
			return false
		}
	}
	return true
}

func (r *reader) array(content []byte, target reflect.Value) bool {
	var items []json.RawMessage
	if json.Unmarshal(content, &items) != nil {
		return false
	}
	all := reflect.MakeSlice(target.Type(), len(items), len(items))
	n := 0
	for i, item := range items {
		if r.member(strconv.Itoa(i), item, all.Index(n)) {
			n++
		}
	}
	target.Set(all.Slice(0, n))
	return true
}

// member decodes a member or list item into target, or omits it.
func (r *reader) member(name string, content []byte, target reflect.Value) bool {
	r.path = append(r.path, name)
	ok := r.value(content, target)
	if !ok && len(r.leftOut) < maxLeftOut {
		r.leftOut = append(r.leftOut, "/"+strings.Join(r.path, "/"))
	}
	r.path = r.path[:len(r.path)-1]
	return ok
}
