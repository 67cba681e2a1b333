package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// use is one use of a key, or of random secrets.
type use struct {
	made    string // a secret, or the MAC of what was made
	accepts func(made string) bool
}

// What is made for one use is refused by each other use.
func TestUses_refuseWhatIsMadeForOthers(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Render.Workers = noWorkers })
	ctx := t.Context()
	stream := try(d.studio.StreamEvents(ctx, d.user.ID, ""))(t)
	var project studio.Subject
	for i := range 2 {
		made := try(d.client.CreateLipsync(ctx, lipsyncRequest("Greeting", "http://127.0.0.1:1/"+string(rune('a'+i)))))(t)
		check(t, d.media.Write(ctx, studio.ResultKey(made.InferenceID, "out.mp4"), strings.NewReader("a video")))
		try(d.studio.Rendered(ctx, made.InferenceID, studio.Rendering{Video: "out.mp4"}, nil))(t)
		try(d.client.UpdateProject(ctx, gen.UpdateProjectRequest{ProjectID: made.InferenceID, Shared: new(true)}))(t)
		project = try(d.store.Subject(ctx, made.InferenceID))(t)
	}
	user := d.user.ID
	pair := try(d.client.Login(ctx, gen.LoginRequest{Email: testEmail, Password: testPassword}))(t)
	_, apiKey, err := d.studio.AddAPIKey(ctx, studio.APIKey{UserID: user, Name: "key"})
	check(t, err)
	reset := try(d.studio.NewResetLink(ctx, studio.User{}, testEmail))(t)
	uses := map[string]use{
		"access token":  {pair.AccessToken, func(token string) bool { _, err := d.tokens.Verify(token); return err == nil }},
		"session":       {pair.RefreshToken, func(token string) bool { _, _, err := d.studio.Session(ctx, token); return err == nil }},
		"link by email": {reset, func(secret string) bool { _, err := d.studio.OpenLink(ctx, secret); return err == nil }},
		"API key": {apiKey, func(key string) bool {
			hash, _ := studio.HashAPIKey(key)
			_, err := d.studio.CheckAPIKey(ctx, hash)
			return err == nil
		}},
	}

	// A cursor begins with its MAC. The others are replaced in what was made.
	const macSize = 16
	decode := base64.RawURLEncoding.DecodeString
	cursor := func(name, made string, err error, read func(cursor string) error) {
		t.Helper()
		check(t, err)
		content := try(decode(made))(t)
		uses[name] = use{string(content[:macSize]), func(mac string) bool {
			return read(base64.RawURLEncoding.EncodeToString(append([]byte(mac), content[macSize:]...))) == nil
		}}
	}
	filter := studio.SubjectFilter{UserID: user, Kind: project.Kind}
	subjects, err := d.studio.List(ctx, filter, "", 1)
	cursor("list of videos", subjects.Next, err, func(cursor string) error { _, err := d.studio.List(ctx, filter, cursor, 1); return err })
	projects, err := d.studio.ProjectPage(ctx, user, studio.ProjectFilter{WorkspaceID: d.workspace}, "", 1)
	cursor("list of projects", projects.Next, err, func(cursor string) error {
		_, err := d.studio.ProjectPage(ctx, user, studio.ProjectFilter{WorkspaceID: d.workspace}, cursor, 1)
		return err
	})
	events, err := d.studio.Events(ctx, studio.EventFilter{UserID: user}, studio.NewestFirst, "", 1, false)
	cursor("list of events", events.Next, err, func(cursor string) error {
		_, err := d.studio.Events(ctx, studio.EventFilter{UserID: user}, studio.NewestFirst, cursor, 1, false)
		return err
	})
	endpoints, err := d.studio.Endpoints(ctx, user, "", 1)
	cursor("list of endpoints", endpoints.Next, err, func(cursor string) error { _, err := d.studio.Endpoints(ctx, user, cursor, 1); return err })
	var position string
	for item, failed := range stream {
		position, err = item.Position, failed
		break
	}
	cursor("position in a stream", position, err, func(position string) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		_, err := d.studio.StreamEvents(ctx, user, position)
		return err
	})

	endpoint := try(hex.DecodeString(endpoints.Endpoints[0].ID))(t)
	uses["endpoint"] = use{string(endpoint), func(mac string) bool {
		_, err := d.studio.SetEndpoint(ctx, user, hex.EncodeToString([]byte(mac)), true)
		return err == nil
	}}
	link := try(decode(d.studio.ShareURL(&project)[strings.LastIndex(d.studio.ShareURL(&project), ".")+1:]))(t)
	uses["link to a video"] = use{string(link), func(mac string) bool {
		_, err := d.studio.SharedProject(ctx, project.ID+"."+base64.RawURLEncoding.EncodeToString([]byte(mac)))
		return err == nil
	}}
	address := try(url.Parse(d.studio.ResultURL(project.ID, "out.mp4")))(t)
	signature := try(decode(address.Query().Get("signature")))(t)
	uses["URL of a file"] = use{string(signature), func(mac string) bool {
		query := address.Query()
		query.Set("signature", base64.RawURLEncoding.EncodeToString([]byte(mac)))
		_, signed := d.media.Key((&url.URL{Path: address.Path, RawQuery: query.Encode()}).String())
		return signed
	}}
	for name, use := range uses {
		for maker, other := range uses {
			if use.accepts(other.made) != (name == maker) {
				t.Errorf("%s: what was made for %s is accepted: %t", name, maker, name != maker)
			}
		}
	}
}
