package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/smith"
)

var (
	smithSeed   = flag.Uint64("smith.seed", 1, "seed of the first random document")
	smithRounds = flag.Uint64("smith.rounds", 30, "random documents to spoil")
)

// A document with faults has code that compiles, or is refused with the place of each fault.
func TestSmith_refusesWhatHasNoCode(t *testing.T) {
	t.Parallel()
	const document = `openapi: 3.1.1
info: { title: t, version: '1' }
components:
  responses: { BadRequest: { description: d }, InternalServerError: { description: d } }
  schemas:
    Event: { type: object, required: [event_type, data], properties: { event_type: { $ref: '#/components/schemas/EventType' }, data: {} } }
    EventType: { type: string }
`
	rounds := *smithRounds
	if testing.Short() {
		rounds = min(rounds, 3)
	}
	fault := regexp.MustCompile(`^(validate: )?api\.yaml:[1-9]\d*:[1-9]\d*: \S`)
	refused := 0
	for seed := *smithSeed; seed < *smithSeed+rounds; seed++ {
		s := smith.New(seed)
		s.Spoil(3, 1+int(seed%3))
		path := filepath.Join(t.TempDir(), "api.yaml")
		text := harness.Try(s.Insert([]byte(document), 3))(t)
		harness.Check(t, os.WriteFile(path, text, 0o600))
		oneAtATime.Lock()
		f, err := generate(path, t.Output())
		oneAtATime.Unlock()
		if err == nil && f["gen/api.gen.go"] == nil {
			t.Errorf("seed %d: no code", seed)
		}
		if err == nil {
			continue
		}
		refused++
		for line := range strings.Lines(err.Error()) {
			if line = strings.ReplaceAll(strings.TrimSpace(line), filepath.Dir(path)+"/", ""); !fault.MatchString(line) || strings.Contains(line, "a fault of its own") {
				t.Errorf("seed %d: %s", seed, line)
			}
		}
	}
	if !testing.Short() && (refused < int(rounds/4) || refused == int(rounds)) {
		t.Errorf("%d of %d documents are refused, which proves little", refused, rounds)
	}
}
