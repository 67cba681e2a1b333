package client_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
)

// line is an item of 200 bytes, with its separator.
type line struct {
	ID     int      `json:"id"`
	Title  string   `json:"title"`
	Status *string  `json:"status"`
	Tags   []string `json:"tags"`
	Text   string   `json:"text"`
}

const lineCount = 100_000

// BenchmarkStream reports the CPU time of reading a stream of 100,000 items of 200 bytes, relative to bufio.Scanner
// with encoding/json. Both read it from the same transport, one after the other.
func BenchmarkStream(b *testing.B) {
	text := fmt.Appendf(nil, `{"id":123456,"title":"Good morning","status":"published","tags":["morning","short"],"text":""}`)
	text = bytes.Replace(text, []byte(`"text":""`), fmt.Appendf(nil, `"text":"%s"`, strings.Repeat("x", 199-len(text))), 1)
	for contentType, item := range map[string][]byte{
		"application/jsonl": append(text, '\n'),
		sse:                 slices.Concat([]byte("id: 17\ndata: "), text, []byte("\n\n")),
	} {
		transport := canned{http.Header{"Content-Type": {contentType}}, bytes.Repeat(item, lineCount)}
		c, err := client.New(client.Config{BaseURL: "http://localhost", Token: "static-1", HTTPClient: &http.Client{Transport: transport}})
		check(b, err)
		b.Run(contentType, func(b *testing.B) {
			var ratios []float64
			for b.Loop() {
				scanned := cpuTime(func() { scan(b, &http.Client{Transport: transport}) })
				streamed := cpuTime(func() {
					if contentType == sse {
						count(b, client.StreamEvents[line](b.Context(), c, true))
					} else {
						count(b, client.StreamItems[line](b.Context(), c, contentType))
					}
				})
				ratios = append(ratios, streamed/scanned)
			}
			b.ReportMetric(median(ratios), "x-scanner")
		})
	}
}

func count[T any](b *testing.B, items iter.Seq2[*T, error]) {
	b.Helper()
	n := 0
	for _, err := range items {
		check(b, err)
		n++
	}
	if n != lineCount {
		b.Fatalf("%d items", n)
	}
}

// scan reads lines, or the data of events whose data has one line.
func scan(b *testing.B, http *http.Client) {
	b.Helper()
	response, err := http.Get("http://localhost/stream")
	check(b, err)
	defer response.Body.Close()
	scanner, n := bufio.NewScanner(response.Body), 0
	for scanner.Scan() {
		text := bytes.TrimPrefix(scanner.Bytes(), []byte("data: "))
		if len(text) == 0 || text[0] != '{' {
			continue
		}
		var item line
		check(b, json.Unmarshal(text, &item))
		n++
	}
	if n != lineCount || scanner.Err() != nil {
		b.Fatalf("%d lines, %v", n, scanner.Err())
	}
}

func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// cpuTime returns the CPU time that f takes in this process, with garbage collection.
func cpuTime(f func()) float64 {
	used := func() float64 {
		var usage syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // never fails
		return float64(usage.Utime.Nano() + usage.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}
