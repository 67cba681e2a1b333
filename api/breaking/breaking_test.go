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

func TestCompare_findsBrokenOperations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		old, new string
		want     []string
	}{
		{"nothing changed", "", "", nil},
		{"a request requires another member", "[email]\n              properties:\n", "[email, code]\n              properties:\n                code: { type: string }\n", []string{"POST /users/login"}},
		{"a request accepts another member", "email: { type: string }", "email: { type: string }\n                code: { type: string }", nil},
		{"a response no longer requires a member", "required: [token]", "required: []", []string{"POST /users/login"}},
		{"a response requires another member", "required: [token]\n                properties:\n", "required: [token, at]\n                properties:\n                  at: { type: string }\n", nil},
		{"an event requires another member", "[avatar_id, status]\n              properties:\n", "[avatar_id, status, at]\n              properties:\n                at: { type: string }\n", nil},
		{"an event no longer requires a member", "[avatar_id, status]", "[status]", []string{"webhook avatar_event"}},
		{"an event loses a status", "[published, failed]", "[published]", nil},
		{"an event gains a status", "[published, failed]", "[published, failed, gone]", []string{"webhook avatar_event"}},
		{"a notification loses a header", "        - { name: webhook-id, in: header, schema: { type: string } }\n", "        []\n", []string{"webhook avatar_event"}},
		{"a webhook is removed", "  lipsync_event:\n", "  another_event:\n", []string{"webhook lipsync_event"}},
		{"an operation is removed", "  /users/refresh:\n", "  /users/renew:\n", []string{"POST /users/refresh"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			edited := strings.Replace(document, test.old, test.new, 1)
			if test.old != "" && edited == document {
				t.Fatalf("the document does not contain %q", test.old)
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
				t.Errorf("breaking changes: %v", breaks)
			}
			for _, operation := range test.want {
				if !got[operation] {
					t.Errorf("%s has no breaking change: %v", operation, breaks)
				}
			}
		})
	}
}

func TestReport_requiresNewLine(t *testing.T) {
	t.Parallel()
	breaks := []finding{{operation: "POST /users/login", rule: "rule", text: "text"}}
	const line = "- `POST /users/login` needs a code.\n"
	for _, test := range []struct {
		name          string
		before, after string
		want          error
	}{
		{"a new line", "# Changes\n", "# Changes\n" + line, nil},
		{"an old line", line, line, errUnlisted},
		{"a line for another operation", "", "- `POST /users/refresh` needs a code.\n", errUnlisted},
		{"no lines", "", "", errUnlisted},
	} {
		var out strings.Builder
		if err := report(&out, breaks, newLines(test.before, test.after)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if !strings.Contains(out.String(), "POST /users/login") {
			t.Errorf("%s: the change is not printed: %s", test.name, &out)
		}
	}
	if err := report(&strings.Builder{}, nil, nil); err != nil {
		t.Errorf("without breaks: %v", err)
	}
}

func TestAtCommit_rejectsFlags(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "--output=x"} {
		if _, err := atCommit(base, "api/openapi.yaml"); err == nil {
			t.Errorf("%q is accepted as a commit", base)
		}
	}
}
