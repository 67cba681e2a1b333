package webhook_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// Each event of the document has exactly one callback, and its sample reaches that callback.
func TestHandlers_haveACallbackForEachEvent(t *testing.T) {
	t.Parallel()
	var called []string
	handlers := webhook.Handlers{Unhandled: func(_ context.Context, e gen.Event, _ webhook.Delivery) error {
		t.Errorf("%s is unhandled", e.EventType)
		return nil
	}}
	var got gen.EventType
	fields := reflect.ValueOf(&handlers).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if name == "Unhandled" || name == "Stale" {
			continue
		}
		fields.Field(i).Set(reflect.MakeFunc(fields.Field(i).Type(), func(arguments []reflect.Value) []reflect.Value {
			called = append(called, name)
			got, _ = reflect.TypeAssert[gen.EventType](arguments[1].FieldByName("EventType"))
			return []reflect.Value{reflect.Zero(reflect.TypeFor[error]())}
		}))
	}
	receiver, err := webhook.NewReceiver(handlers, webhook.Unverified())
	check(t, err)
	for _, eventType := range gen.EventTypes() {
		sample, ok := gen.SampleEvent(eventType, "an id", "")
		body, err := json.Marshal(sample)
		if !ok || err != nil {
			t.Fatalf("%s has no sample: %v", eventType, err)
		}
		if err := receiver.Handle(t.Context(), http.Header{}, body); err != nil || got != eventType {
			t.Errorf("%s: got %q, error %v", eventType, got, err)
		}
	}
	slices.Sort(called)
	if all := len(gen.EventTypes()); len(slices.Compact(called)) != all || fields.NumField() != all+2 {
		t.Errorf("called %q of %d callbacks", called, fields.NumField()-2)
	}
}
