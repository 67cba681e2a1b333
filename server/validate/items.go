package validate

import (
	"strconv"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// Items checks the items of a stream: of a body whose media type has an itemSchema or x-itemSchema. It is not safe for
// concurrent use.
type Items struct {
	w      *checker
	node   *schema.Node
	status int
	detail string
	count  int
}

func newItems(w *checker, c *content, status int, detail string) *Items {
	own := newChecker(w.pool, w.Direction) // that of the request is released before the last item
	return &Items{w: own, node: c.node, status: status, detail: detail}
}

// Check checks the next item, which is JSON. If the schema of a string in it has a contentSchema, that applies to the
// JSON in the string. The error is an [*Error], whose pointers begin with the index of the item.
func (i *Items) Check(item []byte) error {
	i.w.Check(item, i.node)
	return i.result()
}

// CheckEvent checks the next server-sent event like Check. For its schema, it is an object with the member data and,
// unless they are empty, event, id and retry, which is a number of milliseconds.
func (i *Items) CheckEvent(event stream.Frame) error {
	if !utf8.Valid(event.Data) || !utf8.Valid(event.Event) || !utf8.Valid(event.ID) {
		i.w.Malformed = "The event is not valid UTF-8."
	} else {
		i.w.CheckEvent(event, i.node)
	}
	return i.result()
}

// result returns what was found about an item.
func (i *Items) result() error {
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
