package main

import (
	"errors"
	"strings"
	"testing"
)

const document = `openapi: 3.1.1
info: { title: T, version: 1.0.0 }
paths:
  /users/login:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [email]
              properties:
                email: { type: string }
      responses:
        '200':
          description: Tokens.
          content:
            application/json:
              schema:
                type: object
                required: [token]
                properties:
                  token: { type: string }
  /users/refresh:
    post:
      responses:
        '204': { description: Done. }
webhooks:
  avatar_event:
    post:
      parameters:
        - { name: webhook-id, in: header, schema: { type: string } }
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [avatar_id, status]
              properties:
                avatar_id: { type: string }
                status: { type: string, enum: [published, failed] }
      responses:
        2XX: { description: Taken. }
  lipsync_event:
    post:
      responses:
        2XX: { description: Taken. }
`

// Each edit of the document breaks exactly the operations it names.
func TestCompare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		old, new string
		want     []string
	}{
		{"nothing changed", "", "", nil},
		{"a request needs one more member", "[email]\n              properties:\n", "[email, code]\n              properties:\n                code: { type: string }\n", []string{"POST /users/login"}},
		{"a request takes one more member", "email: { type: string }", "email: { type: string }\n                code: { type: string }", nil},
		{"an answer loses the promise of a member", "required: [token]", "required: []", []string{"POST /users/login"}},
		{"an answer gains a member", "required: [token]\n                properties:\n", "required: [token, at]\n                properties:\n                  at: { type: string }\n", nil},
		{"an event gains a required member", "[avatar_id, status]\n              properties:\n", "[avatar_id, status, at]\n              properties:\n                at: { type: string }\n", nil},
		{"an event loses the promise of a member", "[avatar_id, status]", "[status]", []string{"webhook avatar_event"}},
		{"an event loses a status", "[published, failed]", "[published]", nil},
		{"an event gains a status", "[published, failed]", "[published, failed, gone]", []string{"webhook avatar_event"}},
		{"a notification loses a header", "        - { name: webhook-id, in: header, schema: { type: string } }\n", "        []\n", []string{"webhook avatar_event"}},
		{"a webhook is gone", "  lipsync_event:\n", "  another_event:\n", []string{"webhook lipsync_event"}},
		{"an operation is gone", "  /users/refresh:\n", "  /users/renew:\n", []string{"POST /users/refresh"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			edited := strings.Replace(document, test.old, test.new, 1)
			if test.old != "" && edited == document {
				t.Fatalf("the document has no %q", test.old)
			}
			breaks, err := compare([]byte(document), []byte(edited))
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

// Only a new line that names the operation covers a break.
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

func TestAtCommit_refusesFlags(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "--output=x"} {
		if _, err := atCommit(base, "api/openapi.yaml"); err == nil {
			t.Errorf("%q is taken for a commit", base)
		}
	}
}
