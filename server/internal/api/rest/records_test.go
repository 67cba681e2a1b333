package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// record has the members that the responses for all kinds have in common.
type record struct {
	AvatarID      string  `json:"avatar_id"`
	InferenceID   string  `json:"inference_id"`
	Status        string  `json:"status"`
	CreatedAt     string  `json:"created_at"`
	UpdatedAt     string  `json:"updated_at"`
	FailureReason string  `json:"failure_reason"`
	Video         string  `json:"video"`
	VideoURL      string  `json:"video_url"`
	Thumbnail     string  `json:"thumbnail"`
	ThumbnailURL  string  `json:"thumbnail_url"`
	Progress      float64 `json:"progress"`
}

// record sends a request that must succeed.
func (s *setup) record(method, target, body string, header map[string]string) record {
	s.t.Helper()
	status, answer := s.do(method, target, body, header)
	if status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, target, status, answer)
	}
	var r record
	s.check(json.Unmarshal([]byte(answer), &r))
	return r
}

// publish gives the consent for an avatar and renders it.
func (s *setup) publish(id string) {
	s.t.Helper()
	_, err := s.studio.SubmitConsent(s.t.Context(), s.user.ID, id, true)
	s.check(err)
	_, err = s.studio.Rendered(s.t.Context(), id, studio.Rendering{}, nil)
	s.check(err)
}

// kinds returns all kinds of records, with the id of a published avatar for those that require one.
func (s *setup) kinds() []kind {
	s.t.Helper()
	avatar := s.record("POST", "/v1/avatars/create_avatar", `{}`, nil)
	s.publish(avatar.AvatarID)
	return []kind{
		{studio.Avatar, "/v1/avatars/create_avatar", `{"title":"Ada"}`, "/v1/avatars/avatar_details?avatar_id=", "/v1/avatars/list"},
		{studio.Video, "/v1/avatars/create_video", `{"avatar_id":"` + avatar.AvatarID + `"}`, "/v1/avatars/inference_details?inference_id=", "/v1/avatars/list_inferences"},
		{studio.Lipsync, "/v1/lipsync/create_lipsync", `{"title":"Ada"}`, "/v1/lipsync/inference_details?inference_id=", "/v1/lipsync/list"},
	}
}

type kind struct {
	of                          studio.Kind
	create, body, details, list string
}

func (k kind) id(r record) string {
	if k.of == studio.Avatar {
		return r.AvatarID
	}
	return r.InferenceID
}

// A failed record has the reason and the time, in UTC.
func TestResponse_ofAFailedRecord(t *testing.T) {
	eachSetup(t, func(s *setup) {
		for _, kind := range s.kinds() {
			created := s.record("POST", kind.create, kind.body, nil)
			if created.UpdatedAt != created.CreatedAt || created.Status != "processing" {
				s.t.Errorf("%s answers %+v", kind.create, created)
			}
			s.clock.Add(time.Minute)
			_, err := s.studio.Rendered(s.t.Context(), kind.id(created), studio.Rendering{}, &studio.RenderError{Reason: "No face."})
			s.check(err)
			failed := s.record("GET", kind.details+kind.id(created), "", nil)
			if failed.Status != "failed" || failed.FailureReason != "No face." {
				s.t.Errorf("%s answers %+v", kind.details, failed)
			}
			began, ended := s.utc(failed.CreatedAt), s.utc(failed.UpdatedAt)
			if failed.CreatedAt != created.CreatedAt || ended.Sub(began) != time.Minute {
				s.t.Errorf("%s: created at %s, updated at %s", kind.details, failed.CreatedAt, failed.UpdatedAt)
			}
		}
	})
}

func (s *setup) utc(text string) time.Time {
	s.t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.999999Z", text)
	s.check(err)
	return at
}

// A succeeded video or lip-sync has the URLs of its results and the checks of its inputs.
func TestResponse_ofASucceededRecord(t *testing.T) {
	inMemory(t, func(s *setup) {
		for _, kind := range s.kinds()[1:] {
			created := s.record("POST", kind.create, kind.body, nil)
			_, err := s.studio.Rendered(s.t.Context(), created.InferenceID, studio.Rendering{
				Video: "out.mp4", Thumbnail: "out.jpg", Checks: []studio.Check{{Name: "heard_in_mono", Message: "No."}},
			}, nil)
			s.check(err)
			if _, answer := s.do("GET", kind.details+created.InferenceID, "", nil); !strings.Contains(answer, `"checks":[{"check_name":"heard_in_mono","check_status":"FAILED","message":"No."}]`) {
				s.t.Errorf("%s does not show the check", answer)
			}
			done := s.record("GET", kind.details+created.InferenceID, "", nil)
			address := "https://media.example.com/results/" + created.InferenceID
			if done.Status != "succeeded" || done.FailureReason != "" || done.Progress != 100 ||
				done.Video+done.VideoURL != address+"/out.mp4" || done.Thumbnail+done.ThumbnailURL != address+"/out.jpg" {
				s.t.Errorf("%s answers %+v", kind.details, done)
			}
		}
	})
}

// A video of a text has its voice and its subtitles.
func TestResponse_ofASpokenVideo(t *testing.T) {
	inMemory(t, func(s *setup) {
		kind := s.kinds()[1]
		body := strings.TrimSuffix(kind.body, "}") + `,"text":"Hi.","voice":"en-gb","language":"en-AU"}`
		created := s.record("POST", kind.create, body, nil)
		_, err := s.studio.Rendered(s.t.Context(), created.InferenceID, studio.Rendering{
			Video: "out.mp4", Subtitles: "out.srt", Captions: "out.vtt", Language: "en-GB",
		}, nil)
		s.check(err)
		_, answer := s.do("GET", kind.details+created.InferenceID, "", nil)
		address := "https://media.example.com/results/" + created.InferenceID
		for _, want := range []string{
			`"voice":"en-gb"`, `"language":"en-GB"`, `"subtitles":"` + address + `/out.srt"`, `"captions":"` + address + `/out.vtt"`,
		} {
			if !strings.Contains(answer, want) {
				s.t.Errorf("%s does not show %s", answer, want)
			}
		}
	})
}

// An avatar has the progress and the results of its processing.
func TestResponse_ofAnAvatar(t *testing.T) {
	inMemory(t, func(s *setup) {
		created := s.record("POST", "/v1/avatars/create_avatar", `{}`, nil)
		details := "/v1/avatars/avatar_details?avatar_id=" + created.AvatarID
		s.check(s.studio.Progressed(s.t.Context(), created.AvatarID, studio.Progress{Done: 0.4, Stage: "drawing", Left: 9500 * time.Millisecond}))
		if _, answer := s.do("GET", details, "", nil); !strings.Contains(answer, `"progress":40,"progress_stage":"drawing","seconds_left":10`) {
			s.t.Errorf("an avatar that is drawn is %s", answer)
		}
		checks := []studio.Check{{Name: "one_face", OK: true, Message: "There is one face."}, {Name: "light", Message: "It is dark."}}
		_, err := s.studio.Rendered(s.t.Context(), created.AvatarID, studio.Rendering{Checks: checks, Thumbnail: "face.jpg"}, nil)
		s.check(err)
		_, answer := s.do("GET", details, "", nil)
		for _, want := range []string{
			`"avatar_processing_results":[{"check_name":"one_face","check_status":"SUCCESS","message":"There is one face."},` +
				`{"check_name":"light","check_status":"FAILED","message":"It is dark."}]`,
			`"thumbnail":"https://media.example.com/results/` + created.AvatarID + `/face.jpg"`,
		} {
			if !strings.Contains(answer, want) {
				s.t.Errorf("%s does not show %s", answer, want)
			}
		}
	})
}

// All creations accept an idempotency key.
func TestCreate_isIdempotentWithAKey(t *testing.T) {
	inMemory(t, func(s *setup) {
		for _, kind := range s.kinds() {
			key := map[string]string{"Idempotency-Key": "key-of-" + kind.create}
			first, again := s.record("POST", kind.create, kind.body, key), s.record("POST", kind.create, kind.body, key)
			other := s.record("POST", kind.create, kind.body, nil)
			if kind.id(first) != kind.id(again) || kind.id(first) == kind.id(other) {
				s.t.Errorf("%s made %s, then %s with the same key and %s without", kind.create, kind.id(first), kind.id(again), kind.id(other))
			}
		}
	})
}
