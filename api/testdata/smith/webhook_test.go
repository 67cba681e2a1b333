package smith

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// notify sends random events of a webhook to its receiver.
func (e *exchange) notify(name string) {
	var got any
	handlers := webhook.Handlers{Unhandled: func(context.Context, gen.Event, webhook.Delivery) error { return nil }}
	field := reflect.ValueOf(&handlers).Elem().FieldByName(strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], "_event"))
	field.Set(reflect.MakeFunc(field.Type(), func(in []reflect.Value) []reflect.Value {
		got = in[1].Interface()
		return []reflect.Value{reflect.Zero(reflect.TypeFor[error]())}
	}))
	receiver := harness.Try(webhook.NewReceiver(handlers, webhook.Unverified()))(e)
	schema := e.document["webhooks"].(object)[name].(object)["post"].(object)["requestBody"].(object)["content"].(object)["application/json"].(object)["schema"]
	for range *values {
		value, ok := e.valid(schema, inResponse)
		if !ok {
			continue
		}
		got = nil
		if err := receiver.Handle(e.Context(), http.Header{}, []byte(encoded(value))); err != nil || got == nil {
			e.Errorf("%s: %s gives the error %v", name, encoded(value), err)
		} else if arrived := parse([]byte(encoded(got))); !same(value, arrived, true) {
			e.Errorf("%s: the event %s\narrives as %s", name, encoded(value), encoded(arrived))
		}
		e.counts["webhook"]++
	}
}
