package client

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// maxLeftOut limits [Response].LeftOut.
const maxLeftOut = 1000

// readInto decodes content into a zero value, and tries encoding/json before it decodes member by member, with times in
// any format. It returns the JSON pointers of the members it omitted. It returns false if a required member of the top
// level cannot be decoded or content does not have the type of the value at all.
func readInto(content []byte, into any) (leftOut []string, ok bool) {
	if json.Unmarshal(content, into) == nil {
		return nil, string(bytes.TrimSpace(content)) != "null"
	}
	if !json.Valid(content) {
		return nil, false
	}
	r := &reader{}
	ok = r.value(content, reflect.ValueOf(into).Elem())
	return r.leftOut, ok
}

// reader decodes content that encoding/json cannot decode.
type reader struct {
	path    []string // names and indexes that lead to the current value
	leftOut []string
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
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
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
