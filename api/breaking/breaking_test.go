package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// Each edit of the document breaks exactly the operations that it names.
func TestCompare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		old, new string
		want     []string
	}{
		{"nothing changed", "", "", nil},
		{
			"a request needs one more member",
			"required: [email, password]\n      properties:\n",
			"required: [email, password, code]\n      properties:\n        code: { type: string }\n",
			[]string{"POST /users/login"},
		},
		{
			"an answer loses a member",
			"required: [access_token, refresh_token]", "required: [access_token]",
			[]string{"POST /users/login", "POST /users/refresh"},
		},
		{
			"an event gains a required member",
			"required: [avatar_id, status]\n      properties:\n",
			"required: [avatar_id, status, at]\n      properties:\n        at: { type: string }\n",
			nil,
		},
		{
			"an event loses the promise of a member",
			"description: Payload of an avatar_event.\n      required: [avatar_id, status]",
			"description: Payload of an avatar_event.\n      required: [status]",
			[]string{"webhook avatar_event"},
		},
		{
			"a status is added to an event",
			"enum: [succeeded, failed]", "enum: [succeeded, failed, canceled]",
			[]string{"webhook avatar_inference_event", "webhook lipsync_inference_event"},
		},
		{
			"a webhook is gone",
			"\n  lipsync_inference_event:\n", "\n  another_event:\n",
			[]string{"webhook lipsync_inference_event"},
		},
		{
			"an operation is gone",
			"  /users/refresh:\n", "  /users/renew:\n",
			[]string{"POST /users/refresh"},
		},
	}
	document, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			edited := bytes.Replace(document, []byte(test.old), []byte(test.new), 1)
			if test.old != "" && bytes.Equal(edited, document) {
				t.Fatalf("the document has no %q", test.old)
			}
			breaks, err := compare(document, edited)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string]bool)
			for _, b := range breaks {
				got[b.operation] = true
			}
			if len(got) != len(test.want) {
				t.Errorf("breaks %v", breaks)
			}
			for _, operation := range test.want {
				if !got[operation] {
					t.Errorf("%s is not broken: %v", operation, breaks)
				}
			}
		})
	}
}

// A break is covered only by a line that is new and names its operation.
func TestJudge(t *testing.T) {
	t.Parallel()
	breaks := []finding{{operation: "POST /users/login", rule: "rule", text: "text"}}
	const line = "- `POST /users/login` needs a code.\n"
	for _, test := range []struct {
		name          string
		before, after string
		want          error
	}{
		{"a new line", "# Changes\n", "# Changes\n" + line, nil},
		{"an old line", line, line, errUncovered},
		{"a line for another operation", "", "- `POST /users/refresh` needs a code.\n", errUncovered},
		{"no list", "", "", errUncovered},
	} {
		var out strings.Builder
		if err := judge(&out, breaks, newLines(test.before, test.after)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if !strings.Contains(out.String(), "POST /users/login") {
			t.Errorf("%s: the break is not printed: %s", test.name, &out)
		}
	}
	if err := judge(&strings.Builder{}, nil, nil); err != nil {
		t.Errorf("without breaks: %v", err)
	}
}

func TestAtCommit_takesNoFlag(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "--output=x"} {
		if _, err := atCommit(base, "api/openapi.yaml"); err == nil {
			t.Errorf("%q is taken for a commit", base)
		}
	}
}
