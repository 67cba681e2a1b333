package studio_test

import (
	"context"
	"errors"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestChooseVoice(t *testing.T) {
	t.Parallel()
	var voices []studio.Voice
	for _, language := range []string{"fr-CH", "en-GB", "en-US", "en-GB-scotland", "pt-BR", "pt", "cmn", "nb", "zh-Latn-pinyin"} {
		voices = append(voices, studio.Voice{ID: language + "+m", Language: language}, studio.Voice{ID: language + "+f", Language: language})
	}
	for _, c := range []struct{ id, language, chosen, code, detail string }{
		{"", "", "", "", ""},
		{"en-US+f", "", "en-US+f", "", ""},
		{"en-US+f", "fr", "en-US+f", "", ""}, // the text is French, and the voice was chosen for it
		{"", "en", "en-GB+m", "", ""},
		{"", "EN_us", "en-US+m", "", ""},
		{"", "en-AU", "en-GB+m", "", ""},
		{"", "en-GB-x-clan", "en-GB+m", "", ""},
		{"", "pt", "pt+m", "", ""},
		{"", "pt-PT", "pt+m", "", ""},
		{"", "zh-Hant-TW", "cmn+m", "", ""},
		{"", "no", "nb+m", "", ""},
		{"", "e", "", "unknown_language", "must be the language of a voice of GET /v1/voices; the nearest is en-GB"},
		{"", "ff-Latn", "", "unknown_language", "must be the language of a voice of GET /v1/voices; the nearest is fr-CH"},
		{"en-us+F", "", "", "unknown_voice", "must be a voice of GET /v1/voices; the nearest is en-US+f"},
		{"EN", "", "", "unknown_voice", "must be a voice of GET /v1/voices; the nearest is en-GB+m"},
		{"pt-b", "", "", "unknown_voice", "must be a voice of GET /v1/voices; the nearest is pt+m"},
		{"en-GB", "fr", "", "unknown_voice", "must be a voice of GET /v1/voices; the nearest is fr-CH+m"},
		{"pt+f", "xx-YY", "", "unknown_language", "must be the language of a voice of GET /v1/voices; the nearest is fr-CH"},
	} {
		voice, err := studio.ChooseVoice(voices, c.id, c.language)
		var invalid *studio.Error
		if voice.ID != c.chosen || errors.As(err, &invalid) != (c.code != "") || invalid != nil && (invalid.Code != c.code || invalid.Reason != c.detail) {
			t.Errorf("%q, %q: voice %q, %+v", c.id, c.language, voice.ID, invalid)
		}
	}
	if voice, err := studio.ChooseVoice(nil, "any", "xx"); err != nil || voice.ID != "any" {
		t.Errorf("without a list: %+v, %v", voice, err)
	}
}

// A text needs a letter or a digit of any script, unless a recording is spoken.
func TestCreateVideo_needsSpeech(t *testing.T) {
	t.Parallel()
	cfg := studiotest.Config(memstore.New(), studiotest.NewClock().Now)
	broken := errors.New("broken")
	service := studio.New(cfg)
	user := studiotest.AddUser(t, service, "ada@example.com")
	avatar := try(service.CreateAvatar(t.Context(), studio.Creation{UserID: user.ID, Request: []byte(`{}`)}))(t)
	check(t, publish(t, service, avatar))
	for _, c := range []struct {
		speech studio.Speech
		want   error
	}{
		{studio.Speech{}, nil},
		{studio.Speech{Text: new("")}, studio.ErrText},
		{studio.Speech{Text: new("🙂👩‍👩‍👧 …!\n\t–\u0301\u200d")}, studio.ErrText},
		{studio.Speech{Text: new("…"), Recorded: true}, nil},
		{studio.Speech{Text: new("— 好!")}, nil},
		{studio.Speech{Text: new("٣")}, nil},
		{studio.Speech{Text: new("ก็")}, nil},
	} {
		if _, err := service.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: user.ID, Request: []byte(`{}`), Speech: c.speech}); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.speech, err, c.want)
		}
	}
	service.Voices = func(context.Context) ([]studio.Voice, error) { return nil, broken }
	if _, err := service.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: user.ID, Speech: studio.Speech{Voice: "de"}}); !errors.Is(err, broken) {
		t.Errorf("voices that cannot be read: %v", err)
	}
}
