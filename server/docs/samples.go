package docs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// codeSample is an element of x-codeSamples, an extension that Redoc and Scalar support too.
type codeSample struct {
	Lang   string `json:"lang"`
	Label  string `json:"label"`
	Source string `json:"source"`
}

// languages returns the languages of samples in the order of the page, with the extension of their files.
func languages() []struct{ extension, lang, label string } {
	return []struct{ extension, lang, label string }{
		{".sh", "Shell", "curl"}, {".go", "Go", "Go"}, {".ts", "TypeScript", "TypeScript"}, {".py", "Python", "Python"},
	}
}

// readSamples reads the samples in files, by operationId.
func readSamples(files fs.FS) (map[string][]codeSample, error) {
	samples := map[string][]codeSample{}
	if files == nil {
		return samples, nil
	}
	sources := map[string]map[string]string{} // by extension and operationId
	for _, language := range languages() {
		sources[language.extension] = map[string]string{}
	}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		extension := path.Ext(name)
		if sources[extension] == nil {
			return fmt.Errorf("unknown file extension of %s", name)
		}
		source, err := fs.ReadFile(files, name)
		sources[extension][strings.TrimSuffix(path.Base(name), extension)] = string(source)
		return err
	})
	for _, language := range languages() {
		for id, source := range sources[language.extension] {
			samples[id] = append(samples[id], codeSample{language.lang, language.label, source})
		}
	}
	return samples, err
}

// addSamples returns the document with samples as x-codeSamples of its operations. Operations that already
// have x-codeSamples are not changed.
func addSamples(document []byte, samples map[string][]codeSample) ([]byte, error) {
	if len(samples) == 0 {
		return document, nil
	}
	var root map[string]any
	if err := json.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	missing := maps.Clone(samples)
	paths, _ := root["paths"].(map[string]any)
	for _, item := range paths {
		methods, _ := item.(map[string]any)
		for _, method := range methods {
			operation, _ := method.(map[string]any)
			id, _ := operation["operationId"].(string)
			if samples[id] != nil && operation["x-codeSamples"] == nil {
				operation["x-codeSamples"] = samples[id]
			}
			delete(missing, id)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("samples of the unknown operation %s", slices.Sorted(maps.Keys(missing))[0])
	}
	return json.Marshal(root)
}
