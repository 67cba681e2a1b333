package clienttest_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
)

// letters sends a stream of three items. If the path is /open, it then waits for the end of the request.
func letters(w http.ResponseWriter, r *http.Request) {
	w, r, stop := stream.Open(w, r)
	defer stop()
	var items iter.Seq2[string, error] = func(yield func(string, error) bool) {
		_ = yield("a", nil) && yield("b", nil) && yield("c", nil)
		if r.URL.Path == "/open" {
			<-r.Context().Done()
		}
	}
	_ = stream.Send(w, http.StatusOK, strings.ReplaceAll(r.URL.RawQuery, ".", "/"), items, nil)
}

func TestFault_changesItemsOfStreams(t *testing.T) {
	t.Parallel()
	same := func(next http.Handler) http.Handler { return next }
	for name, test := range map[string]struct {
		fault clienttest.Fault
		path  string
		want  string
		err   error
		took  time.Duration
	}{
		"none":                {same, "/", `"a" "b" "c"`, nil, 0},
		"none, open":          {same, "/open", `"a" "b" "c"`, context.DeadlineExceeded, 40 * time.Second},
		"CutAfter":            {clienttest.CutAfter(2), "/", `"a" "b"`, client.ErrCut, 0},
		"CutAfter, open":      {clienttest.CutAfter(3), "/open", `"a" "b" "c"`, client.ErrCut, 0},
		"CutAfter, nothing":   {clienttest.CutAfter(0), "/", ``, client.ErrCut, 0},
		"CutAfter, too many":  {clienttest.CutAfter(4), "/", `"a" "b" "c"`, nil, 0},
		"StallAfter":          {clienttest.StallAfter(1), "/", `"a"`, context.DeadlineExceeded, 40 * time.Second},
		"DuplicateItem":       {clienttest.DuplicateItem(2), "/", `"a" "b" "b" "c"`, nil, 0},
		"WrongItem":           {clienttest.WrongItem(3), "/", `"a" "b" [[null]]`, nil, 0},
		"SlowItems":           {clienttest.SlowItems(9 * time.Second), "/", `"a" "b" "c"`, nil, 27 * time.Second},
		"SlowItems, too slow": {clienttest.SlowItems(30 * time.Second), "/", `"a"`, context.DeadlineExceeded, 40 * time.Second},
		"Status":              {clienttest.Status(404), "/", ``, client.ErrNotFound, 0},
		"DropMid":             {clienttest.DropMid(), "/", `"a"`, client.ErrCut, 0},
	} {
		contentTypes := []string{"application.jsonl", "text.event-stream"}
		if test.err != nil || test.took > 0 {
			contentTypes = contentTypes[:1] // the end of the connection is the same for all
		}
		for _, contentType := range contentTypes {
			t.Run(name+" "+contentType, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := clienttest.NewInMemory(t)
					s.Fail("", 1, func(http.Handler) http.Handler { return test.fault(http.HandlerFunc(letters)) })
					c, err := client.New(client.Config{BaseURL: s.URL, HTTPClient: s.HTTPClient(), Retry: client.Retry{Attempts: 1}})
					check(t, err)
					ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
					defer cancel()
					began := time.Now()
					var got []string
					for item, itemErr := range c.Raw(ctx, http.MethodGet, test.path+"?"+contentType, nil) {
						if err = itemErr; err == nil {
							got = append(got, item.Data)
						}
					}
					if strings.Join(got, " ") != test.want || !errors.Is(err, test.err) || time.Since(began) != test.took {
						t.Errorf("items %s after %v, error %v", got, time.Since(began), err)
					}
					cancel()
					synctest.Wait()
					if requests := s.Requests(); len(requests) != 1 || (requests[0].Status == 200) != (name != "Status") {
						t.Errorf("recorded %+v", requests)
					}
				})
			})
		}
	}
}
