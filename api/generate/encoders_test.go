package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// encoded is a program with all kinds of generated types. It compares their encoders with encoding/json.
const encoded = `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"
)

type Nullable[T any] struct { Value *T; Null bool }

func (n Nullable[T]) IsZero() bool { return n.Value == nil && !n.Null }
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

type Text string
type Texts []Text
type Alias = Inner
type Same Inner
type Inner struct { A Text ` + "`json:\"a\"`" + ` }

type Tree struct {
	Tree     *Tree  ` + "`json:\"tree\"`" + `
	Branches []Tree ` + "`json:\"branches\"`" + `
}

type Upper struct{ text string }

func (u Upper) MarshalJSON() ([]byte, error) { return json.Marshal("<" + u.text) }

type Unnamed struct {
	Named string
	Alias
}

type Number struct { N int ` + "`json:\"n,string\"`" + ` }

type Video struct { Video *string ` + "`json:\"video\"`" + ` }

type All struct {
	Quoted string           ` + "`json:\"<&\"`" + `
	Small  int8             ` + "`json:\"small\"`" + `
	Large  uint64           ` + "`json:\"large\"`" + `
	Single float32          ` + "`json:\"single\"`" + `
	Double float64          ` + "`json:\"double,omitempty\"`" + `
	Yes    bool             ` + "`json:\"yes,omitempty\"`" + `
	Texts  Texts            ` + "`json:\"texts,omitempty\"`" + `
	Lists  [][]int          ` + "`json:\"lists\"`" + `
	Bytes  []byte           ` + "`json:\"bytes\"`" + `
	Pair   [2]int           ` + "`json:\"pair\"`" + `
	Map    map[string]Inner ` + "`json:\"map\"`" + `
	Ints   map[int]string   ` + "`json:\"ints\"`" + `
	Any    any              ` + "`json:\"any,omitempty\"`" + `
	Same   Same             ` + "`json:\"same\"`" + `
	Alias  *Alias           ` + "`json:\"alias,omitempty\"`" + `
	Tree   Tree             ` + "`json:\"tree\"`" + `
	Upper  Upper            ` + "`json:\"upper\"`" + `
	Uppers []Upper          ` + "`json:\"uppers\"`" + `
	Other  Unnamed          ` + "`json:\"other\"`" + `
	Number Number           ` + "`json:\"number\"`" + `
	Video  Video            ` + "`json:\"video\"`" + `
	At     time.Time        ` + "`json:\"at,omitzero\"`" + `
	Null   Nullable[Inner]  ` + "`json:\"null,omitzero\"`" + `
	Given  Nullable[Texts]  ` + "`json:\"given,omitzero\"`" + `
	Within struct { X *int  ` + "`json:\"x\"`" + ` } ` + "`json:\"within\"`" + `
	Raw    json.RawMessage  ` + "`json:\"raw\"`" + `
	Free   json.RawMessage  ` + "`json:\"free,omitempty\"`" + `
	Zone   time.Location    ` + "`json:\"zone,omitempty\"`" + `
	Month  time.Month       ` + "`json:\"month,omitzero\"`" + `
	Left   string           ` + "`json:\"-\"`" + `
	Bare   string
}

type Answer All

func (v Answer) Visit() (string, error) {
	to := newEncoder()
	defer to.release()
	to.encodeAnswer(&v)
	return string(to.text) + "\n", to.err
}

func withArrays(value any) any { return value }

func main() {
	texts := Texts{"a", "<\x00"}
	one := 1
	full := Answer{
		Quoted: "\"", Small: -8, Large: math.MaxUint64, Single: 1e-7, Double: 1e21, Yes: true, Texts: texts,
		Lists: [][]int{{1, 2}, {}, {3}}, Bytes: []byte("abc"), Map: map[string]Inner{"z": {"1"}, "<": {"2"}, "": {}},
		Ints: map[int]string{2: "b", 1: "a"}, Any: map[string]any{"a": texts}, Same: Same{"s"}, Alias: &Alias{"t"},
		Tree: Tree{Tree: &Tree{Branches: []Tree{}}, Branches: []Tree{{}}}, Upper: Upper{"u"}, Uppers: []Upper{{"v"}, {}},
		Other: Unnamed{"n", Alias{"e"}}, Number: Number{7}, At: time.Unix(1e9, 5), Null: Nullable[Inner]{Null: true},
		Given: Nullable[Texts]{Value: &texts}, Raw: json.RawMessage(" [ 1 ] "), Free: json.RawMessage("null"), Month: 5, Left: "l", Bare: "b",
	}
	full.Within.X = &one
	for _, value := range []Answer{full, {Lists: [][]int{}, Map: map[string]Inner{}, Uppers: []Upper{}}, {Single: float32(math.Inf(1))}} {
		var want bytes.Buffer
		wantErr := json.NewEncoder(&want).Encode(value)
		got, err := value.Visit()
		if (err != nil) != (wantErr != nil) || err == nil && got != want.String() {
			fmt.Printf("got  %s %v\nwant %s %v\n", got, err, want.String(), wantErr)
			os.Exit(1)
		}
	}
	fmt.Print("equal")
}
`

func TestEncoders_equalEncodingJSON(t *testing.T) {
	t.Parallel()
	f := files{"gen/api.gen.go": []byte(encoded)}
	all, err := f.encoders()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.write("encoders.go", strings.Replace(encodersSource, "package gen", "package main", 1), all); err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	for name, text := range map[string][]byte{
		"go.mod": []byte("module encoded\n\ngo 1.26\n"), "main.go": []byte(encoded), "encoders.go": f["encoders.go"],
	} {
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), "go", "run", ".")
	run.Dir = directory
	if output, err := run.CombinedOutput(); err != nil || string(output) != "equal" {
		t.Errorf("%v: %s\n%s", err, output, f["encoders.go"])
	}
}

func TestEncoders_rejectUndeclaredTypes(t *testing.T) {
	t.Parallel()
	f := files{
		"gen/api.gen.go": []byte("package gen\nfunc write(to *encoder) { to.encodeNothing(nil) }"),
	}
	if _, err := f.encoders(); err == nil || err.Error() != "type Nothing: not declared" {
		t.Errorf("error %v", err)
	}
}
