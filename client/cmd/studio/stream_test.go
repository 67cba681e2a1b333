package main

import (
	"io"
	"net/http"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Each item is printed when it arrives.
func TestStream_printsItemsAtOnce(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	p := newTest(t)
	p.Env.Token = "token"
	p.Env.BaseURL = startFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "id: "+r.Header.Get("Last-Event-ID")+"\nevent: "+r.Method+r.URL.RequestURI()+string(body)+"\n")
		for range 2 {
			_, _ = io.WriteString(w, "data: "+<-next+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
	for _, test := range []struct {
		args       []string
		data, want string
		next       string
	}{
		{[]string{"/a?b=c"}, "\x1b[2J", "\\x1b[2J\n", `{"n":1.0}`},
		{[]string{"--json", "--after=7", "--method=QUERY", "--body=[1]", "/a?b=c"}, "no JSON", `{"id":"7","event":"QUERY/a?b=c[1]","data":"no JSON"}` + "\n", `{"data":{"n":1.0}}`},
	} {
		r := p.start(t, append([]string{"stream"}, test.args...)...)
		next <- test.data
		harness.Eventually(t, "the first item", func() bool { return r.out.String() == test.want })
		next <- `{"n":1.0}`
		harness.Eventually(t, "the second item", func() bool { return r.out.String() == test.want+test.next+"\n" })
	}
	p.mustFail(t, exitUsage, "slash", "stream", "path")
	p.mustFail(t, exitUsage, "--body", "stream", "--body={", "/path")
	p.Env.BaseURL = startFake(t, http.NotFound)
	p.mustFail(t, exitNotFound, "404", "stream", "/path")
}
