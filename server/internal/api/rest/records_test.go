package rest_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// record has the ids in a response for a record.
type record struct {
	AvatarID    string `json:"avatar_id"`
	InferenceID string `json:"inference_id"`
}

func (r record) id() string { return cmp.Or(r.InferenceID, r.AvatarID) }

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
	avatar := s.record("POST", "/v1/avatars/create_avatar", `{"title":"Ada"}`, nil)
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

// A response has the input of its record, its checks and its results, or the reason of its failure, with times in UTC.
func TestResponse_showsTheRecord(t *testing.T) {
	eachSetup(t, func(s *setup) {
		const webhook = `,"webhook_data":{"webhook_url":"https://hooks.example.com/?key=1"},"webhook":{"enabled":true}}`
		checks := []studio.Check{{Name: "one_face", OK: true, Message: "There is one face."}, {Name: "light", Message: "It is dark."}}
		made := studio.Rendering{
			Video: "out.mp4", Thumbnail: "out.jpg", Subtitles: "out.srt", Captions: "out.vtt", Language: "en-GB", Checks: checks,
		}
		const shown = `[{"check_name":"one_face","check_status":"SUCCESS","message":"There is one face."},` +
			`{"check_name":"light","check_status":"FAILED","message":"It is dark."}]`
		failed := &studio.RenderError{Reason: "No face."}
		kinds := s.kinds()
		avatar := strings.Split(kinds[1].body, `"`)[3]
		spoken := strings.Trim(kinds[1].body, "{}") + `,"text":"Hi.","voice":"en-gb","language":"en-AU"}`
		for _, test := range []struct {
			kind
			input string
			made  studio.Rendering
			err   error
			want  string
		}{
			{kinds[0], `{"title":"Ada","base_video_url":"https://media.example.com/ada.mp4"` + webhook, studio.Rendering{Thumbnail: "out.jpg", Checks: checks}, nil, `{"avatar_id":"ID","avatar_processing_results":` + shown + `,"avatar_webhook":{"webhook_url":"https://hooks.example.com/?key=1"},
				"base_video":"https://media.example.com/ada.mp4","created_at":"BEGAN","progress":100,"status":"consent_pending",
				"thumbnail":"RESULT/out.jpg","title":"Ada","updated_at":"ENDED"}`},
			{kinds[1], `{"title":"Greeting",` + spoken, made, nil, `{"avatar_id":"AVATAR","avatar_title":"Ada","captions":"RESULT/out.vtt","checks":` + shown + `,"created_at":"BEGAN","inference_id":"ID",
				"input_text":"Hi.","language":"en-GB","progress":100,"status":"succeeded","subtitles":"RESULT/out.srt","thumbnail":"RESULT/out.jpg",
				"title":"Greeting","updated_at":"ENDED","video":"RESULT/out.mp4","voice":"en-gb"}`},
			{kinds[2], `{"description":"Once","video_url":"https://media.example.com/1","audio_url":"https://media.example.com/2",
				"use_audio_from_video":true,"sync_mode":"remap"}`, made, nil, `{"checks":` + shown + `,"created_at":"BEGAN","description":"Once","inference_id":"ID","input_audio":"https://media.example.com/2",
				"input_video":"https://media.example.com/1","progress":100,"status":"succeeded","sync_mode":"remap","thumbnail_url":"RESULT/out.jpg",
				"updated_at":"ENDED","use_audio_from_video":true,"video_url":"RESULT/out.mp4"}`},
			{kinds[0], kinds[0].body, studio.Rendering{}, failed, `{"avatar_id":"ID","created_at":"BEGAN","failure_reason":"No face.","progress":40,"status":"failed","title":"Ada","updated_at":"ENDED"}`},
			{kinds[1], kinds[1].body, studio.Rendering{}, failed, `{"avatar_id":"AVATAR","avatar_title":"Ada","created_at":"BEGAN","failure_reason":"No face.","inference_id":"ID","progress":40,"status":"failed","updated_at":"ENDED"}`},
			{kinds[2], kinds[2].body, studio.Rendering{}, failed, `{"created_at":"BEGAN","failure_reason":"No face.","inference_id":"ID","progress":40,"status":"failed","title":"Ada","updated_at":"ENDED"}`},
		} {
			id, began := s.record("POST", test.create, test.input, nil).id(), s.clock.Now()
			s.check(s.studio.Progressed(s.t.Context(), id, studio.Progress{Done: 0.4, Stage: "drawing", Left: 9500 * time.Millisecond}))
			if _, answer := s.do("GET", test.details+id, "", nil); !strings.Contains(answer, `"progress":40,"progress_stage":"drawing","seconds_left":10`) {
				s.t.Errorf("while it is rendered, %s answers %s", test.details, answer)
			}
			s.clock.Add(time.Minute)
			_, err := s.studio.Rendered(s.t.Context(), id, test.made, test.err)
			s.check(err)
			_, answer := s.do("GET", test.details+id, "", nil)
			answer = strings.NewReplacer("https://media.example.com/results/"+id, "RESULT", id, "ID", avatar, "AVATAR", began.Format(time.RFC3339), "BEGAN", s.clock.Now().Format(time.RFC3339), "ENDED").Replace(answer)
			if answer != strings.ReplaceAll(test.want, "\n\t\t\t\t", "")+"\n" {
				s.t.Errorf("%s answers\n%swant\n%s", test.details, answer, test.want)
			}
		}
		_, projects := s.do("GET", "/projects/v2", "", map[string]string{"X-Workspace-Id": s.workspace.ID})
		if !strings.Contains(projects, `"srt_target_language":"en-GB"`) || strings.Contains(projects, `"available_credits"`) || strings.Contains(projects, `"tags"`) {
			s.t.Errorf("the projects are %s", projects)
		}
	})
}

// A creation is kept with the members that the document does not name. Each member that is the URL of a file is kept in
// the form in which it is fetched, and refused by its name if it has no such form. Package weburl holds the form.
func TestCreations_areKept(t *testing.T) {
	inMemory(t, func(s *setup) {
		found := 0
		for _, kind := range s.kinds() {
			body := s.document().Paths.Value(kind.create).Post.RequestBody.Value.Content["application/json"].Schema.Value
			for name := range body.Properties {
				if !strings.HasSuffix(name, "_url") {
					continue
				}
				found++
				const unknown = `"options":{"b":1,"a":[true,null]},"seed":12345678901234567890`
				begin := strings.TrimSuffix(kind.body, "}") + `,` + unknown + `,"` + name + `":"`
				created := s.record(http.MethodPost, kind.create, begin+`https://MEDIA.example:443/a b"}`, nil)
				subject, err := s.store.Subject(t.Context(), created.id())
				s.check(err)
				for _, want := range []string{unknown, `"` + name + `":"https://media.example/a%20b"`} {
					if !strings.Contains(string(subject.Request), want) {
						t.Errorf("%s keeps %s, want %s", kind.create, subject.Request, want)
					}
				}
				if status, answer := s.do(http.MethodPost, kind.create, begin+`https://canary@127.1/"}`, nil); status != http.StatusBadRequest ||
					!strings.Contains(answer, `"pointer":"/`+name+`"`) || strings.Contains(answer, "canary") {
					t.Errorf("%s: %s: %d %s", kind.create, name, status, answer)
				}
			}
		}
		if found < 4 {
			t.Errorf("the document has %d such members", found)
		}
	})
}

// Whatever operation of the document refers to a deleted record, or to a video of a deleted avatar, responds with 404,
// and no list has the record. Its deletion can be repeated for a day.
func TestDelete_isIdempotent(t *testing.T) {
	inMemory(t, func(s *setup) {
		operations := s.operations()
		avatar, video, lipsync := operations["POST /v1/avatars/delete_avatar"], operations["POST /v1/avatars/delete_video"], operations["POST /v1/lipsync/delete_lipsync"]
		unknown := lipsync
		unknown.body = video.body
		s.wantStatus(unknown, http.StatusNotFound, "")
		for _, kind := range []studio.Kind{studio.Avatar, studio.Lipsync} { // and the videos of the avatars
			page, err := s.studio.List(s.t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: kind}, "", 100)
			s.check(err)
			for _, subject := range page.Subjects {
				s.check(s.studio.Delete(s.t.Context(), s.user.ID, kind, subject.ID))
			}
		}
		for _, c := range operations {
			switch {
			case c.reach == single && c.status != http.StatusNoContent:
				s.wantStatus(c, http.StatusNotFound, "")
			case c.reach == lists && c.method == http.MethodGet && c.path != "/v1/events":
				s.wantStatus(c, http.StatusOK, `{"data":[]`)
			}
		}
		for later, again := range map[time.Duration]int{24*time.Hour - time.Second: http.StatusNoContent, 24 * time.Hour: http.StatusNotFound} {
			s.clock.Add(later)
			s.token = s.login(s.user.Email).Access
			for _, deletion := range []operation{avatar, video, lipsync} {
				s.wantStatus(deletion, again, "")
			}
			s.clock.Add(-later)
		}
	})
}
