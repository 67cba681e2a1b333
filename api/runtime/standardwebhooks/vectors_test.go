package standardwebhooks_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
)

// The vectors were made by the libraries in testdata/foreign, whose tests also verify the signatures of
// this package.
func TestVectors_matchOtherLibraries(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/vectors.json")
	check(t, err)
	var vectors []struct {
		Name       string            `json:"name"`
		Secrets    []string          `json:"secrets"`
		ID         string            `json:"id"`
		Timestamp  int64             `json:"timestamp"`
		Body       []byte            `json:"body"`
		Times      int               `json:"times"`
		Signatures map[string]string `json:"signatures"`
	}
	check(t, json.Unmarshal(content, &vectors))
	libraries := map[string]int{}
	for _, v := range vectors {
		at, body := time.Unix(v.Timestamp, 0), bytes.Repeat(v.Body, v.Times)
		secrets := make([]standardwebhooks.Secret, len(v.Secrets))
		for i, text := range v.Secrets {
			secrets[i] = mustSecret(t, text)
		}
		header := http.Header{}
		check(t, standardwebhooks.Sign(header, v.ID, at, body, secrets...))
		for library, signature := range v.Signatures {
			libraries[library]++
			if header.Get(standardwebhooks.HeaderSignature) != signature {
				t.Errorf("%s: Sign does not sign as %s does", v.Name, library)
			}
			foreign := signed(v.ID, header.Get(standardwebhooks.HeaderTimestamp), signature)
			for _, secret := range secrets {
				if err := standardwebhooks.Verify(foreign, body, at, secret); err != nil {
					t.Errorf("%s, signed by %s: %v", v.Name, library, err)
				}
			}
		}
	}
	if len(libraries) < 3 {
		t.Errorf("vectors of %v only", libraries)
	}
	for library, n := range libraries {
		if n < 15 {
			t.Errorf("%d vectors of %s", n, library)
		}
	}
}
