package validate

import (
	"cmp"
	"fmt"
)

// maxJSON limits the length of a document in bytes of JSON, which aliases of YAML can make far longer than its text.
const maxJSON = 64 << 20

// JSON checks a document as [Load] does, and returns it as JSON without white space.
func JSON(text []byte, cfg Config) ([]byte, error) {
	_, l, err := load(text, cfg)
	if err != nil {
		return nil, err
	}
	whole, err := l.Root.AppendJSON(nil, maxJSON)
	if err != nil {
		return nil, fmt.Errorf("validate: %s: %w", cmp.Or(cfg.Name, defaultName), err)
	}
	return whole, nil
}
