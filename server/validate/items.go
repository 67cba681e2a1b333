package validate

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// Items checks the items of a stream: of a body whose media type has an itemSchema or x-itemSchema. It is not safe for
// concurrent use.
type Items struct {
	w       *checker
	content *content
	status  int
	detail  string
	count   int
	event   []byte // the JSON of an event
}

func newItems(w *checker, c *content, status int, detail string) *Items {
	own := newChecker(w.Direction) // that of the request is released before the last item
	return &Items{w: own, content: c, status: status, detail: detail}
}

// Check checks the next item. For its schema, a server-sent event is an object with the member data and, unless they
// are empty, event, id and retry, which is a number of milliseconds. If the schema of a string in it has a
// contentSchema, that applies to the JSON in the string. The error is an [*Error], whose pointers begin with the index
// of the item.
func (i *Items) Check(item stream.Frame) error {
	text := item.Data
	if i.content.format == stream.Events {
		if !i.setEvent(item) {
			i.w.Malformed = "The event is not valid UTF-8."
		}
		text = i.event
	}
	if i.w.Malformed == "" {
		i.w.Check(text, i.content.node)
	}
	if cap(i.event) > schema.KeepBytes {
		i.event = nil
	}
	i.count++
	if i.w.Malformed == "" && len(i.w.Found) == 0 {
		return nil
	}
	for n := range i.w.Found {
		i.w.Found[n].Pointer = "/" + strconv.Itoa(i.count-1) + i.w.Found[n].Pointer
	}
	err := i.w.failure(i.status, i.detail)
	i.w.Found, i.w.Malformed = i.w.Found[:0], ""
	return err
}

// setEvent makes event the JSON of an item. It reports whether the item is valid UTF-8.
func (i *Items) setEvent(item stream.Frame) bool {
	event, err := jsontext.AppendQuote(append(i.event[:0], `{"data":`...), item.Data)
	for _, field := range []struct {
		name string
		text []byte
	}{{"event", item.Event}, {"id", item.ID}} {
		if len(field.text) > 0 && err == nil {
			event = append(append(append(event, `,"`...), field.name...), `":`...)
			event, err = jsontext.AppendQuote(event, field.text)
		}
	}
	if item.Retry > 0 {
		event = strconv.AppendInt(append(event, `,"retry":`...), item.Retry.Milliseconds(), 10)
	}
	i.event = append(event, '}')
	return err == nil
}
