package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/gen"
)

func TestNullable_distinguishesAbsentNullAndValue(t *testing.T) {
	t.Parallel()
	type object struct {
		A gen.Nullable[int] `json:"a,omitzero"`
	}
	for text, value := range map[string]object{`{}`: {}, `{"a":null}`: {gen.Null[int]()}, `{"a":0}`: {gen.Value(0)}} {
		decoded := object{gen.Value(1)}
		if text == `{}` {
			decoded = object{}
		}
		if err := json.Unmarshal([]byte(text), &decoded); err != nil || !cmp.Equal(decoded, value) {
			t.Errorf("%s is decoded as %s, error %v", text, cmp.Diff(value, decoded), err)
		}
		if encoded, err := json.Marshal(value); string(encoded) != text || err != nil {
			t.Errorf("got %s, %v, want %s", encoded, err, text)
		}
	}
	if err := json.Unmarshal([]byte(`{"a":"x"}`), new(object)); err == nil {
		t.Error("a string is decoded as a number")
	}
}
