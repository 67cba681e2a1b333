package validate

import (
	"strconv"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// Items checks the items of a stream: of a body whose media type has an itemSchema or x-itemSchema. It is not safe for
// concurrent use.
type Items struct {
	w       *checker
	content *content
	status  int
	detail  string
	count   int
}

func newItems(w *checker, c *content, status int, detail string) *Items {
	own := newChecker(w.pool, w.Direction) // that of the request is released before the last item
	return &Items{w: own, content: c, status: status, detail: detail}
}

// Check checks the next item. For its schema, a server-sent event is an object with the member data and, unless they
// are empty, event, id and retry, which is a number of milliseconds. If the schema of a string in it has a
// contentSchema, that applies to the JSON in the string. The error is an [*Error], whose pointers begin with the index
// of the item.
func (i *Items) Check(item stream.Frame) error {
	switch {
	case i.content.format != stream.Events:
		i.w.Check(item.Data, i.content.node)
	case !utf8.Valid(item.Data) || !utf8.Valid(item.Event) || !utf8.Valid(item.ID):
		i.w.Malformed = "The event is not valid UTF-8."
	default:
		i.w.CheckEvent(item, i.content.node)
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
