package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"text/template"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	demoEmail = "demo@example.com"
	// The id of the workspace is fixed, so that the next start finds it.
	demoWorkspace = "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10"
	// demoPasswordKey is the name of the password among the keys of the database.
	demoPasswordKey = "demo password"
)

// showDemo fills an empty database and prints how to try the service. showDemo rejects databases that were not made
// for a demo, because a demo may send webhooks to this machine.
func showDemo(ctx context.Context, out io.Writer, d *daemon) error {
	user, password, err := demoUser(ctx, d)
	if err != nil {
		return err
	}
	if err := seedDemo(ctx, d.studio, user); err != nil {
		return err
	}
	secrets, err := d.studio.WebhookSecrets(ctx, user.ID)
	if err != nil {
		return err
	}
	text, err := template.New("demo").Parse(demoText)
	if err != nil {
		return err
	}
	renderer := ""
	if program := d.cfg.Render.Program; len(program) > 0 {
		renderer = program[0]
	}
	return text.Execute(out, map[string]string{
		"Renderer": renderer, "Missing": d.cfg.Render.Missing, "Face": facePath,
		"URL": d.url(), "Database": d.store.Name(), "Email": demoEmail, "Password": password, "Workspace": demoWorkspace, "Secret": secrets[0],
	})
}

const demoText = `Avatar Studio demo
  console         {{.URL}}/console
  email           {{.Email}}
  password        {{.Password}}
  workspace id    {{.Workspace}}
  webhook secret  {{.Secret}}
  database        {{.Database}}

{{if .Renderer}}Videos are made by {{.Renderer}}. A title with [no-consent] is refused consent.
{{else}}Rendering is simulated: nothing is made. A title with [fail] fails, one with [no-consent] is refused consent.
{{if .Missing}}No real videos: {{.Missing}}.
{{end}}{{end -}}
Webhooks may go to this machine. In another terminal, print those to http://127.0.0.1:9000/:
STUDIO_BASE_URL={{.URL}} STUDIO_EMAIL={{.Email}} STUDIO_PASSWORD={{.Password}} .bin/studio listen --addr 127.0.0.1:9000

# log in
TOKEN=$(curl -sSf {{.URL}}/users/login -H 'Content-Type: application/json' \
  -d '{"email":"{{.Email}}","password":"{{.Password}}"}' | sed 's/.*"access_token":"\([^"]*\)".*/\1/')

# list the projects of the workspace
curl {{.URL}}/projects/v2 -H "Authorization: Bearer $TOKEN" -H 'x-workspace-id: {{.Workspace}}'

# create an avatar
curl {{.URL}}/v1/avatars/create_avatar -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{"title":"Ada","webhook_data":{"webhook_url":"http://127.0.0.1:9000/"},"webhook":{"enabled":true}}'

{{if .Renderer}}# let a drawn face say a sentence
curl -sSf -o .bin/face.jpg {{.URL}}{{.Face}}
espeak-ng -w .bin/hello.wav "Good morning."
STUDIO_BASE_URL={{.URL}} STUDIO_EMAIL={{.Email}} STUDIO_PASSWORD={{.Password}} .bin/studio lipsync create --video .bin/face.jpg --audio .bin/hello.wav --watch
{{else}}# create a lip-sync
curl {{.URL}}/v1/lipsync/create_lipsync -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{"title":"Greeting","webhook_data":{"webhook_url":"http://127.0.0.1:9000/"},"webhook":{"enabled":true}}'
{{end}}
`

// demoUser returns the demo user with the password, which is stored in the database, so that each start prints the
// same. In an empty database, it first creates the demo workspace, which identifies the database as that of a demo.
func demoUser(ctx context.Context, d *daemon) (user studio.User, password string, err error) {
	users, err := d.store.Users(ctx, store.UserFilter{}, "", 1)
	if err != nil {
		return user, "", err
	}
	if len(users) == 0 {
		_, err = d.studio.AddWorkspace(ctx, demoWorkspace, "Demo")
		if err == nil || errors.Is(err, studio.ErrExists) {
			_, err = d.studio.AddUser(ctx, "", demoEmail, rand.Text()) // replaced below
		}
		if err != nil {
			return user, "", err
		}
	}
	err = d.studio.AddMember(ctx, demoWorkspace, demoEmail)
	if errors.Is(err, studio.ErrNotFound) {
		return user, "", usagef("--demo needs an empty database or the database of an earlier demo")
	}
	if err != nil {
		return user, "", err
	}
	key, err := d.store.Key(ctx, demoPasswordKey, newKey)
	if err != nil {
		return user, "", err
	}
	if user, err = d.studio.UserByEmail(ctx, demoEmail); err != nil {
		return user, "", err
	}
	same, err := d.studio.Passwords.Compare(ctx, string(key), user.PasswordHash)
	if err == nil && !same { // the user is new, or has chosen another password
		err = d.studio.SetPassword(ctx, demoEmail, string(key))
	}
	return user, string(key), err
}

// seedDemo adds the projects, unless the workspace has some. An earlier start may have been interrupted
// before it added them.
func seedDemo(ctx context.Context, service *studio.Service, user studio.User) error {
	page, err := service.ProjectPage(ctx, user.ID, studio.ProjectFilter{WorkspaceID: demoWorkspace}, "", 1)
	if err != nil || len(page.Projects) > 0 {
		return err
	}
	projects, err := demoProjects(user.ID, service.Now().UTC().Truncate(time.Second))
	if err != nil {
		return err
	}
	_, err = service.ImportProjects(ctx, projects)
	return err
}

// demoProjects returns a dozen projects. The last three belong to a colleague.
func demoProjects(user string, now time.Time) ([]studio.Project, error) {
	colleague := studio.NewID()
	var projects []studio.Project
	for i, seed := range []struct{ title, status, language, tag, color string }{
		{"Welcome to the team", "published", "english", "onboarding", "#2D7FF9"},
		{"Bienvenue dans l’équipe", "published", "french", "onboarding", "#2D7FF9"},
		{"Quarterly results", "published", "english", "finance", "#20C933"},
		{"Product tour", "published", "english", "marketing", "#F82B60"},
		{"Produkttour", "draft", "german", "marketing", "#F82B60"},
		{"Safety at the site", "published", "english", "training", "#FCB400"},
		{"Seguridad en la obra", "processing", "spanish", "training", "#FCB400"},
		{"Release notes", "draft", "english", "product", "#8B46FF"},
		{"Thank you, customers", "failed", "english", "marketing", "#F82B60"},
		{"Password hygiene", "published", "english", "training", "#FCB400"},
		{"Travel policy", "draft", "english", "people", "#18BFFF"},
		{"Holiday greetings", "published", "english", "people", "#18BFFF"},
	} {
		owner := user
		if i >= 9 {
			owner = colleague
		}
		id := studio.NewID()
		created := now.Add(-time.Hour - time.Duration(i)*31*time.Hour)
		updated := created.Add(47 * time.Minute)
		published := studio.IsPublished(seed.status)
		picture := ""
		if published {
			picture = facePath
		}
		document, err := json.Marshal(gen.Project{
			UserID: &owner, ProjectID: &id, Title: &seed.title, ProjectType: new("PERSONALIZED"),
			CreatedAt: &created, UpdatedAt: &updated, Status: &seed.status, Language: &seed.language,
			Thumbnail: &picture, Thumbnails: &gen.Thumbnails{CustomThumbnail: &picture},
			Tags:             &gen.Tags{Colors: &[]string{seed.color}, Names: &[]string{seed.tag}},
			AvailableCredits: new(120 - 5*i), UtilisedCredits: new(5 * i), RecordingScript: new(seed.title + "."),
		})
		if err != nil {
			return nil, err
		}
		projects = append(projects, studio.Project{
			ID: id, WorkspaceID: demoWorkspace, UserID: owner, CreatedAt: created,
			Published: published, Document: string(document),
		})
	}
	return projects, nil
}
