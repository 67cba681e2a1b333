package harness

import (
	_ "embed"
	"strings"
)

//go:embed urls.txt
var urls string

// URLs returns paths and queries of URLs, each with the request target that the WHATWG URL standard makes of it.
func URLs() map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(urls) {
		if raw, target, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			all[raw] = target
		}
	}
	return all
}

// Hosts returns notations of hosts, after "http://", each with the one in which the product writes it, or "" if it must
// be refused.
func Hosts() map[string]string {
	return map[string]string{
		"EXAMPLE.com.":         "example.com",
		"bücher.example":       "xn--bcher-kva.example",
		"127.0.0.1.":           "127.0.0.1",
		"127。0。0。1":            "127.0.0.1",
		"[0:0:0:0:0:0:0:1]":    "[::1]",
		"[2606:2800:0::0:AB]":  "[2606:2800::ab]",
		"[::ffff:7f00:1]":      "127.0.0.1",
		"[0:0::ffff:10.0.0.1]": "10.0.0.1",

		"canary:canary@127.0.0.1": "",
		"canary@127.0.0.1":        "",
		"@127.0.0.1":              "",
		"127.1":                   "",
		"127.0.1":                 "",
		"0x7f000001":              "",
		"0X7F.0.0.1":              "",
		"0177.0.0.1":              "",
		"127.000.0.1":             "",
		"2130706433":              "",
		"2130706433.":             "",
		"1.2.3.4.5":               "",
		"256.0.0.1":               "",
		"127.0.0.1..":             "",
		"[fe80::1%25lo]":          "",
		"[::1%25canary]":          "",
	}
}
