package render_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func TestExec_listsVoices(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string][]studio.Voice{
		"speaks": {
			{ID: "en-gb", Language: "en-GB", Name: "English"},
			{ID: "de+f", Language: "de", Name: "German, Anna", Gender: "female"},
		},
		"reports failure": nil, // it does not know the request
		"crashes":         nil,
	} {
		s := setup(t, behaviour, render.Limits{})
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Voices(done); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a caller that has left gets %v", behaviour, err)
		}
		for range 2 {
			voices := try(s.Voices(t.Context()))(t)
			if diff := cmp.Diff(want, voices); diff != "" {
				t.Errorf("%s: %s", behaviour, diff)
			}
		}
		if warned := strings.Count(s.log.String(), "does not list its voices"); warned != map[string]int{"crashes": 1}[behaviour] {
			t.Errorf("%s: asked %d times", behaviour, warned)
		}
		s.noWorkDirs()
	}
}

// A video is spoken by the voice that its request means. If the voice is lost, the video fails, unless it has a
// recording. If the voice does not speak the language that the request names, a check says so.
func TestExec_choosesVoice(t *testing.T) {
	t.Parallel()
	s := setup(t, "speaks", render.Limits{})
	avatar := try(s.studio.CreateAvatar(t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`)}))(t)
	try(s.studio.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil))(t)
	for request, want := range map[string]string{
		`{"text":"Hello"}`: "video by ",
		`{"text":"Hello","voice":null,"language":"de-AT"}`:           "video by de+f",
		`{"text":"Hello","voice":"en-gb","language":"de"}`:           "video by en-gb",
		`{"text":"Hello","voice":"en-gb","language":"en-US"}`:        "video by en-gb",
		`{"text":"Hello","voice":"fr"}`:                              "",
		`{"text":"Hello","language":"fr"}`:                           "",
		`{"text":"a","audio_url":"https://a.example/","voice":"fr"}`: "video by ",
	} {
		video := try(s.studio.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: s.user.ID, Request: []byte(request)}))(t)
		made, err := s.Render(t.Context(), video)
		if want == "" {
			if failure, ok := errors.AsType[*studio.RenderError](err); !ok || failure.Retry || !strings.HasPrefix(failure.Reason, "The voice does not exist any more.") {
				t.Errorf("%s: %v", request, err)
			}
			continue
		}
		check(t, err)
		file := try(s.media.Open(t.Context(), studio.ResultKey(video.ID, "out.mp4")))(t)
		if content, _ := io.ReadAll(file); string(content) != want {
			t.Errorf("%s: %q", request, content)
		}
		speaks := slices.IndexFunc(made.Checks, func(c studio.Check) bool { return c.Name == "speaks_language" })
		if len(made.Checks) != 2 || speaks < 0 || made.Checks[speaks].OK == strings.Contains(request, `"en-gb","language":"de"`) {
			t.Errorf("%s: the checks are %+v", request, made.Checks)
		}
	}
}
