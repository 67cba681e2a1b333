package docs

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
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

type language struct{ extension, lang, label string }

// languages returns the languages of samples in the order of the page, with the extension of their files.
func languages() []language {
	return []language{
		{".sh", "Shell", "curl"}, {".go", "Go", "Go"}, {".ts", "TypeScript", "TypeScript"}, {".py", "Python", "Python"},
	}
}

// readSamples reads the samples in files, by operationId, in the order of the languages.
func readSamples(files fs.FS) (map[string][]codeSample, error) {
	samples := map[string][]codeSample{}
	if files == nil {
		return samples, nil
	}
	for _, l := range languages() {
		err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != l.extension {
				return err
			}
			id, err := url.QueryUnescape(strings.TrimSuffix(path.Base(name), l.extension))
			if err != nil {
				return err
			}
			source, err := fs.ReadFile(files, name)
			samples[id] = append(samples[id], codeSample{l.lang, l.label, string(source)})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// addSamples adds samples to the operations of a document as x-codeSamples. Operations that already have them are not
// changed.
func addSamples(root map[string]any, samples map[string][]codeSample) error {
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
		return fmt.Errorf("samples of the unknown operation %s", slices.Sorted(maps.Keys(missing))[0])
	}
	return nil
}
