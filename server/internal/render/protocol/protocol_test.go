package protocol_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

func request() protocol.Request {
	return protocol.Request{
		Version: protocol.Version, Kind: protocol.Video, Voice: "en-gb", ID: "0199", Attempt: 2, OutputDir: "/work/out",
		Request:     []byte(`{"text":"Hello","unknown":[1.50]}`),
		Inputs:      map[string]string{"audio_url": "/work/in/1"},
		AvatarFiles: map[string]string{"face.json": "/work/in/2"},
	}
}

func TestWriteRequest_roundTrips(t *testing.T) {
	t.Parallel()
	var line bytes.Buffer
	harness.Check(t, protocol.WriteRequest(&line, request()))
	validate(t, "request", line.Bytes())
	got := harness.Try(protocol.ReadRequest(&line))(t)
	if diff := cmp.Diff(request(), got); diff != "" {
		t.Error(diff)
	}
}

func TestWriteRequest_rejectsInvalid(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*protocol.Request){
		"version":       func(r *protocol.Request) { r.Version = 2 },
		"kind":          func(r *protocol.Request) { r.Kind = "film" },
		"id":            func(r *protocol.Request) { r.ID = "" },
		"attempt":       func(r *protocol.Request) { r.Attempt = 0 },
		"request":       func(r *protocol.Request) { r.Request = []byte(`[]`) },
		"output":        func(r *protocol.Request) { r.OutputDir = "out" },
		"input":         func(r *protocol.Request) { r.Inputs["audio_url"] = "http://example.com/a.wav" },
		"avatar file":   func(r *protocol.Request) { r.AvatarFiles["face.json"] = "face.json" },
		"name of files": func(r *protocol.Request) { r.AvatarFiles["../face.json"] = "/work/in/2" },
	} {
		spoiled := request()
		spoil(&spoiled)
		if err := protocol.WriteRequest(&bytes.Buffer{}, spoiled); !errors.Is(err, protocol.ErrProtocol) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	var line bytes.Buffer
	harness.Check(t, protocol.WriteRequest(&line, request()))
	for _, text := range []string{line.String() + strings.Repeat(" ", 4<<20), strings.Replace(line.String(), "0199", "", 1)} {
		if _, err := protocol.ReadRequest(strings.NewReader(text)); !errors.Is(err, protocol.ErrProtocol) {
			t.Errorf("a request that is too long or has no id: %v", err)
		}
	}
}

func TestRead_returnsResultAndRisingProgress(t *testing.T) {
	t.Parallel()
	want := protocol.Result{
		Video: "out.mp4", Thumbnail: "out.jpg", Files: []string{"face.json"}, DurationSeconds: 5.6,
		Previews: protocol.Previews{Still: "a.png", StillPlay: "b.png", Animation: "a.gif", AnimationPlay: "b.gif"},
		Voices:   []protocol.Voice{{ID: "chr+f", Language: "chr-US-Qaaa-x-west", Name: "Cherokee", Gender: "female"}},
		Voice:    "out.m4a", Subtitles: "out.srt", Captions: "out.vtt", Language: "zh-Hans-CN",
		Checks: []protocol.Check{{Name: "one_face", Status: protocol.Succeeded, Message: "There is one face."}},
	}
	var output bytes.Buffer
	for _, done := range []float64{0, 0.5, 0.4, 1} {
		write(t, &output, protocol.Message{Progress: &done})
	}
	for range 2 {
		write(t, &output, protocol.Message{Progress: new(0.9), Stage: protocol.Finishing})
	}
	write(t, &output, protocol.Message{Result: &want})
	for line := range bytes.Lines(output.Bytes()) {
		validate(t, "message", line)
	}

	var progress []string
	got, err := protocol.Read(&output, func(done float64, stage protocol.Stage) {
		progress = append(progress, fmt.Sprint(done, " ", stage))
	})
	harness.Check(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"0.5 ", "1 ", "1 finishing"}, progress); diff != "" {
		t.Errorf("progress only rises: %s", diff)
	}
	unclean := `{"result":{"voices":[{"id":"a","language":"en","name":"\u0007","gender":"fe\u0007male"}]}}`
	got, err = protocol.Read(strings.NewReader(unclean), nil)
	if err != nil || !slices.Equal(got.Voices, []protocol.Voice{{ID: "a", Language: "en", Name: "a", Gender: "fe male"}}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRead_cleansReportedFailure(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	write(t, &output, protocol.Message{Error: &protocol.Error{
		Reason: "No face\n\n  \x1b[31mwas \u202efound.\x00", Permanent: true,
		Checks: []protocol.Check{{Name: "one_face", Status: protocol.Failed, Message: "No\tface."}},
	}})
	validate(t, "message", output.Bytes())
	_, err := protocol.Read(&output, func(float64, protocol.Stage) {})
	failure, ok := errors.AsType[*protocol.Error](err)
	if !ok {
		t.Fatalf("error is %v", err)
	}
	if failure.Reason != "No face [31mwas found." || !failure.Permanent || failure.Checks[0].Message != "No face." {
		t.Errorf("failure is %+v", failure)
	}
}

func TestRead_rejectsInvalidOutput(t *testing.T) {
	t.Parallel()
	const (
		result = `{"result":{"video":"out.mp4"}}` + "\n"
		voice  = `{"id":"a","language":"en","name":"A"}`
		check  = `{"name":"a","status":"SUCCESS"}`
	)
	for name, output := range map[string]string{
		"nothing":           "",
		"no last line":      `{"progress":1}` + "\n",
		"text":              "Loading model\n" + result,
		"an empty line":     "\n" + result,
		"two results":       result + result,
		"a line after it":   result + `{"progress":1}`,
		"two in one":        `{"progress":1,"result":{}}`,
		"none":              `{}`,
		"null":              `{"result":null}`,
		"another member":    `{"result":{"vidoe":"out.mp4"}}`,
		"a member twice":    `{"progress":0.1,"progress":0.2}` + "\n" + result,
		"another case":      `{"Result":{}}`,
		"less than none":    `{"progress":-0.1}` + "\n" + result,
		"a check's name":    `{"result":{"checks":[{"name":"One face","status":"SUCCESS"}]}}`,
		"too much progress": `{"progress":40}` + "\n" + result,
		"another stage":     `{"progress":0.4,"stage":"dreaming"}` + "\n" + result,
		"a stage alone":     `{"stage":"drawing"}` + "\n" + result,
		"a stage at last":   `{"stage":"drawing","result":{"video":"out.mp4"}}`,
		"a path":            `{"result":{"video":"../out.mp4"}}`,
		"an absolute path":  `{"result":{"files":["/etc/passwd"]}}`,
		"a hidden file":     `{"result":{"files":[".netrc"]}}`,
		"a page":            `{"result":{"captions":"out.html"}}`,
		"a preview's path":  `{"result":{"previews":{"still":"../a.png"}}}`,
		"a preview's type":  `{"result":{"previews":{"animation":"a.png"}}}`,
		"a voice":           `{"result":{"voices":[{"id":"a b","language":"en","name":"A"}]}}`,
		"a voice's tag":     `{"result":{"voices":[{"id":"a","language":"","name":"A"}]}}`,
		"many voices":       `{"result":{"voices":[` + strings.Repeat(voice+",", 1000) + voice + `]}}`,
		"many checks":       `{"result":{"checks":[` + strings.Repeat(check+",", 32) + check + `]}}`,
		"a language":        `{"result":{"language":"English (US)"}}`,
		"a status":          `{"result":{"checks":[{"name":"a","status":"MAYBE"}]}}`,
		"a duration":        `{"result":{"duration_seconds":-1}}`,
		"a long duration":   `{"result":{"duration_seconds":86401}}`,
		"a long line":       `{"error":{"reason":"` + strings.Repeat("x", 70_000) + `"}}`,
		"many lines":        strings.Repeat(`{"progress":0}`+"\n", 100_000) + result,
		"many files":        `{"result":{"files":["a"` + strings.Repeat(`,"a"`, 32) + `]}}`,
		"half a line":       `{"result":{"video":"out`,
		"bad UTF-8":         "{\"error\":{\"reason\":\"\xff\"}}",
	} {
		got, err := protocol.Read(strings.NewReader(output), func(float64, protocol.Stage) {})
		if !errors.Is(err, protocol.ErrProtocol) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestWrite_rejectsInvalid(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	for _, message := range []protocol.Message{{}, {Progress: new(1.5)}, {Result: &protocol.Result{Video: "/out.mp4"}}} {
		if err := protocol.Write(&output, message); !errors.Is(err, protocol.ErrProtocol) || output.Len() > 0 {
			t.Errorf("%+v: %v, wrote %q", message, err, output.String())
		}
	}
}

// For any output of a program, the texts that Read returns are clean and its file names have no directory
// part.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"progress":0.4}` + "\n" + `{"result":{"video":"out.mp4","thumbnail":"out.jpg","files":["a"],"duration_seconds":5.6,"checks":[{"name":"lit","status":"SUCCESS","message":"m"}]}}`))
	f.Add([]byte(`{"result":{"previews":{"still":"a.png"},"voice":"a.m4a","subtitles":"a.srt","captions":"a.vtt","language":"de"}}`))
	f.Add([]byte(`{"error":{"reason":"\u0007","permanent":true}}`))
	f.Add([]byte(`{"error":{"reason":"` + strings.Repeat("long ", protocol.MaxText) + `"}}`))
	f.Fuzz(func(t *testing.T, output []byte) {
		previous, last := 0.0, protocol.Stage("")
		result, err := protocol.Read(bytes.NewReader(output), func(done float64, stage protocol.Stage) {
			if done < previous || done == previous && stage == last || done > 1 {
				t.Errorf("progress %v after %v", done, previous)
			}
			previous, last = done, stage
		})
		failure, failed := errors.AsType[*protocol.Error](err)
		switch {
		case failed:
			checkText(t, failure.Reason)
			if failure.Reason == "" {
				t.Error("no reason")
			}
			result.Checks = failure.Checks
		case err != nil:
			if !errors.Is(err, protocol.ErrProtocol) {
				t.Errorf("error is %v", err)
			}
			return
		}
		for _, check := range result.Checks {
			checkText(t, check.Message)
		}
		for _, name := range append(result.Files, result.Video, result.Thumbnail, result.Previews.Still, result.Voice, result.Subtitles) {
			if strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") {
				t.Errorf("file %q", name)
			}
		}
	})
}

// checkText fails the test if text is not as Clean returns it.
func checkText(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > protocol.MaxText {
		t.Errorf("text %q", text)
	}
	for _, r := range text {
		if !unicode.IsGraphic(r) {
			t.Errorf("text %q has %q", text, r)
		}
	}
	if protocol.Clean(text) != text {
		t.Errorf("%q is cleaned to %q the second time", text, protocol.Clean(text))
	}
}

func write(t *testing.T, output *bytes.Buffer, message protocol.Message) {
	t.Helper()
	harness.Check(t, protocol.Write(output, message))
}

// validate checks document against a definition of protocol.schema.json.
func validate(t *testing.T, definition string, document []byte) {
	t.Helper()
	data := harness.Try(os.ReadFile("protocol.schema.json"))(t)
	schema := harness.Try(jsonschema.UnmarshalJSON(bytes.NewReader(data)))(t)
	compiler := jsonschema.NewCompiler()
	harness.Check(t, compiler.AddResource("protocol.schema.json", schema))
	compiled := harness.Try(compiler.Compile("protocol.schema.json#/$defs/" + definition))(t)
	instance := harness.Try(jsonschema.UnmarshalJSON(bytes.NewReader(document)))(t)
	if err := compiled.Validate(instance); err != nil {
		t.Errorf("%s\n%v", document, err)
	}
}
