package bench_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// twelveFiles returns a document of 3 MB, with 11 files that it refers to. They contain 25 copies of our document.
func twelveFiles() (main string, folder fstest.MapFS, size int) {
	var b strings.Builder
	b.WriteString("openapi: 3.1.1\ninfo: { title: Copies, version: '1' }\ncomponents: { securitySchemes: { bearerAuth: { type: http, scheme: bearer } } }\npaths:\n")
	files := make(fstest.MapFS)
	paths := regexp.MustCompile(`(?m)^  (/\S+):$`).FindAllStringSubmatch(string(api.Spec), -1)
	ids := regexp.MustCompile(`(operationId: \w+)`)
	for i := range 25 {
		file, copied := fmt.Sprintf("part%d.yaml", i%11), fmt.Sprintf("copy%d", i)
		for _, path := range paths {
			fmt.Fprintf(&b, "  /%s%s: { $ref: '%s#/%s/paths/%s' }\n", copied, path[1], file, copied, strings.ReplaceAll(path[1], "/", "~1"))
		}
		text := ids.ReplaceAllString(strings.ReplaceAll(string(api.Spec), "'#/", "'#/"+copied+"/"), "${1}"+copied)
		text = copied + ":\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
		size += len(text)
		if files[file] == nil {
			files[file] = new(fstest.MapFile)
		}
		files[file].Data = append(files[file].Data, text...)
	}
	return b.String(), files, size + b.Len()
}

// loadFiles returns how long it takes to load the document of twelve files, and to parse its files alone.
func loadFiles(t *testing.T) (loaded, parsed time.Duration) {
	t.Helper()
	main, folder, size := twelveFiles()
	if size < 3e6 {
		t.Errorf("the files have only %d bytes", size)
	}
	began := time.Now()
	v, err := validate.Load([]byte(main), validate.Config{Files: folder})
	loaded = time.Since(began)
	harness.Check(t, err)
	if _, ok := v.Operation("POST", "/copy24/v1/lipsync/create_lipsync"); !ok {
		t.Error("the last copy is missing")
	}
	began = time.Now()
	harness.Check(t, yaml.Unmarshal([]byte(main), new(yaml.Node)))
	for _, file := range folder {
		harness.Check(t, yaml.Unmarshal(file.Data, new(yaml.Node)))
	}
	return loaded, time.Since(began)
}
