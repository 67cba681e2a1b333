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
