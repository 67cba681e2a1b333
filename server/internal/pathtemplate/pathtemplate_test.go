package pathtemplate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
)

func TestTemplate_Match(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ template, path, want string }{
		{"/", "/", ""},
		{"/", "/a", "no"},
		{"/a", "/a", ""},
		{"/a", "a", "no"},
		{"/a", "/a/", "no"},
		{"/a/", "/a", "no"},
		{"/a/", "/a/", ""},
		{"/a b/é", "/a%20b/%c3%a9", ""},
		{"/a%20b", "/a%20b", ""},
		{"/a/{id}", "/a/x%2Fy", "x%2Fy"},
		{"/a/{id}", "/a/", "no"},
		{"/a/{id}", "/a/..", "no"},
		{"/a/{id}", "/a/%2E%2e", "no"},
		{"/a/{id}", "/a/...", "..."},
		{"/a/{id}/b/{c}", "/a/1/b/2", "1 2"},
		{"/a/{id}/b/{c}", "/a/1/c/2", "no"},
		{"/jobs/{id}:cancel", "/jobs/7:cancel", "7"},
		{"/jobs/{id}:cancel", "/jobs/7:8:cancel", "7:8"},
		{"/jobs/{id}:cancel", "/jobs/:cancel", "no"},
		{"/jobs/{id}:cancel", "/jobs/cancel", "no"},
		{"/jobs/{id}:cancel", "/jobs/7:cancels", "no"},
		{"/files/{id}.json", "/files/a.json.json", "a.json"},
		{"/files/{id}.json", "/files/..json", "no"},
		{"/files/é-{id}", "/files/%C3%A9-1", "1"},
		{"/v{major}", "/v1", "1"},
		{"/v{major}", "/v", "no"},
		{"/v{major}", "/w1", "no"},
		{"/{from}-{to}", "/1-2-3", "1 2-3"},
		{"/{from}-{to}", "/--2", "- 2"},
		{"/{from}-{to}", "/1-", "no"},
		{"/{from}-{to}", "/-", "no"},
		{"/{from}-{to}", "/12", "no"},
		{"/x{a}.{b}y", "/x1.2y", "1 2"},
		{"/x{a}.{b}y", "/x1.2.y", "1 2."},
		{"/x{a}.{b}y", "/x1.y", "no"},
	} {
		template, err := pathtemplate.Parse(test.template)
		harness.Check(t, err)
		values, ok := template.Match(test.path)
		got := strings.Join(values, " ")
		if !ok {
			got = "no"
		}
		if got != test.want {
			t.Errorf("%s and %s: got %q, want %q", test.template, test.path, got, test.want)
		}
	}
}

func TestParse_rejectsWhatIsNoParameter(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/{", "/}", "/{a", "/a}", "/{}", "/{{a}}", "/{a/b}", "/{a}/{a}", "/{a}{b}", "/x{a}-{a}"} {
		if _, err := pathtemplate.Parse(path); err == nil {
			t.Errorf("%s is accepted", path)
		}
	}
}

// Of the templates that match a path, the most specific one is first.
func TestCompare(t *testing.T) {
	t.Parallel()
	want := []string{"/a/b", "/a/{x}:long", "/a/{x}:in", "/a/{x}", "/{x}/b", "/{x}/{y}"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int {
		first, _ := pathtemplate.Parse(a)
		second, _ := pathtemplate.Parse(b)
		return pathtemplate.Compare(&first, &second)
	})
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
