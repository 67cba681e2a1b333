package stream_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/stream"
)

func TestReceive_decodesEachItem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		contentType, body, want string
		err                     error
	}{
		{lines, "{\"n\":1}\n\n{\"n\":2}\n", "{1}{2}", nil},
		{texts, "\x1e{\"n\":1}\n\x1e\x1e{\"n\":2}\n", "{1}{2}", nil},
		{mixed, "--b\r\n\r\n{\"n\":1}\r\n--b--", "{1}", nil},
		{lines, "", "", nil},
		{lines, "{\"n\":1}\n{\"n\":", "{1}", stream.ErrTruncated},
		{lines, "{\"n\":1}\n{\"n\":\"x\"}\n{\"n\":3}\n", "{1}", stream.ErrItem},
		{lines, "\"" + strings.Repeat("x", stream.MaxItem) + "\"\n", "", stream.ErrTooLarge},
		{"text/plain", "{\"n\":1}\n", "", stream.ErrMalformed},
	} {
		got, failed := "", error(nil)
		for item, err := range stream.Receive[thing](strings.NewReader(test.body), test.contentType) {
			if failed = err; err == nil {
				got += fmt.Sprint(item)
			}
		}
		if got != test.want || !errors.Is(failed, test.err) {
			t.Errorf("%s %.40q: %s, %v", test.contentType, test.body, got, failed)
		}
	}
}

// A handler can range over the items of a request that has no body.
func TestReceive_readsNothingWithoutBody(t *testing.T) {
	t.Parallel()
	for _, body := range []io.Reader{nil, http.NoBody} {
		for _, err := range stream.Receive[thing](body, "") {
			t.Error("there is an item:", err)
		}
	}
}

func TestReceiveEvents_decodesData(t *testing.T) {
	t.Parallel()
	const body = "id: 1\nevent: new\nretry: 1000\ndata: {\"n\":\ndata: 1}\n\n"
	for event, err := range stream.ReceiveEvents[thing](strings.NewReader(body), sse) {
		if got := fmt.Sprint(event); got != "{1 new 1s {1} false}" || err != nil {
			t.Error(got, err)
		}
	}
	for event, err := range stream.ReceiveEvents[string](strings.NewReader(body), sse) {
		if event.Data != "{\"n\":\n1}" || err != nil {
			t.Errorf("%q, %v", event.Data, err)
		}
	}
}
