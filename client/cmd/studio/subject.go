package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// subject is an avatar, a video or a lip-sync.
type subject struct {
	document []byte // response of the service

	AvatarID      string     `json:"avatar_id"`
	InferenceID   string     `json:"inference_id"`
	Status        string     `json:"status"`
	Title         *string    `json:"title"`
	Progress      *float64   `json:"progress"` // in percent
	ProgressStage *string    `json:"progress_stage"`
	SecondsLeft   *int       `json:"seconds_left"`
	FailureReason *string    `json:"failure_reason"`
	Video         *string    `json:"video"`     // of a video
	VideoURL      *string    `json:"video_url"` // of a lip-sync
	CreatedAt     *time.Time `json:"created_at"`
	UpdatedAt     *time.Time `json:"updated_at"`

	Checks []gen.AvatarProcessingResult `json:"checks"` // of the inputs of a video or a lip-sync
}

// warnings returns what is wrong with the inputs of a record that was made nevertheless.
func (s *subject) warnings() string {
	var messages []string
	for _, c := range s.Checks {
		if gen.Or(c.CheckStatus, "") == "FAILED" {
			messages = append(messages, commandline.Printable(gen.Or(c.Message, "")))
		}
	}
	return strings.Join(messages, " ")
}

func (s *subject) id() string { return cmp.Or(s.InferenceID, s.AvatarID) }

func (s *subject) succeeded() bool {
	return s.Status == string(gen.AvatarStatusPublished) || s.Status == string(gen.InferenceStatusSucceeded)
}

// failed reports whether the status is final and not a success.
func (s *subject) failed() bool {
	return s.Status == string(gen.AvatarStatusFailed) || s.Status == string(gen.AvatarStatusConsentFailed)
}

// request is a call that returns a subject.
type request func(context.Context, *client.Client, ...client.CallOption) error

// send makes a call and decodes the response.
func send(ctx context.Context, c *client.Client, call request, options ...client.CallOption) (*subject, error) {
	var response client.Response
	if err := call(ctx, c, append(options, client.WithResponse(&response))...); err != nil {
		return nil, err
	}
	s := &subject{document: response.Body}
	if err := json.Unmarshal(response.Body, s); err != nil {
		return nil, err
	}
	return s, nil
}

// requestOf returns the request that calls a method of the client with a body or an id. The response is decoded
// separately.
func requestOf[B, T any](method func(*client.Client, context.Context, B, ...client.CallOption) (T, error), body B) request {
	return func(ctx context.Context, c *client.Client, options ...client.CallOption) error {
		_, err := method(c, ctx, body, options...)
		return err
	}
}

func getAvatar(id string) request { return requestOf((*client.Client).GetAvatar, id) }

func getVideo(id string) request { return requestOf((*client.Client).GetVideo, id) }

func getLipsync(id string) request { return requestOf((*client.Client).GetLipsync, id) }

func (p *program) show(command *cli.Command, s *subject) error {
	if command.Bool("json") {
		return commandline.PrintJSON(p.Stdout, json.RawMessage(s.document))
	}
	table := commandline.NewTable(p.Stdout, false)
	for _, row := range [][]string{
		{"id", s.id()},
		{"title", gen.Or(s.Title, "")},
		{"status", s.Status},
		{"reason", gen.Or(s.FailureReason, "")},
		{"warning", s.warnings()},
		{"video", gen.Or(cmp.Or(s.Video, s.VideoURL), "")},
		{"created", stamp(s.CreatedAt)},
		{"updated", stamp(s.UpdatedAt)},
	} {
		if row[1] != "" {
			_ = table.Add(nil, row...) // Flush returns write errors
		}
	}
	return table.Flush()
}

// showCommand returns the command that shows a record.
func (p *program) showCommand(kind string, get func(id string) request) *cli.Command {
	show := p.serviceLeaf("show", "show the "+noun(kind)+" with this id", "ID", example(kind, "show ID"), nil,
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			s, err := send(ctx, c, get(command.Args().First()))
			if err != nil {
				return err
			}
			return p.show(command, s)
		})
	show.Aliases = []string{"get"}
	return show
}

// createCommand returns the command that creates a record. create returns the request for the flags.
func (p *program) createCommand(kind, examples string, flags []cli.Flag, files []fileFlag, create func(*cli.Command) request, get func(id string) request) *cli.Command {
	for _, file := range files {
		flags = append(flags, &cli.StringFlag{Name: file.name, Usage: "file to upload instead of --" + file.url})
	}
	flags = append(flags,
		&cli.StringFlag{Name: "title", Usage: "title of the " + noun(kind)},
		idempotencyKeyFlag("creates"),
		&cli.BoolFlag{Name: "watch", Usage: "wait until the creation is finished, like the watch command"})
	return p.serviceLeaf("create", "create a new "+noun(kind)+" and print its id", "", examples, flags,
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			for _, file := range files {
				if err := p.uploadFlag(ctx, c, command, file); err != nil {
					return err
				}
			}
			key := cmp.Or(command.String("idempotency-key"), uuid.NewString())
			s, err := send(ctx, c, create(command), client.WithIdempotencyKey(key))
			switch {
			case err != nil:
				return withKey(err, key)
			case command.Bool("watch"):
				return p.watch(ctx, command, kind, s, func(ctx context.Context) (*subject, error) { return send(ctx, c, get(s.id())) })
			case command.Bool("json"):
				return commandline.PrintJSON(p.Stdout, json.RawMessage(s.document))
			}
			_, err = fmt.Fprintln(p.Stdout, commandline.Printable(s.id()))
			return err
		})
}

func idempotencyKeyFlag(verb string) cli.Flag {
	return &cli.StringFlag{Name: "idempotency-key", Usage: "idempotency key; repeating the command with the same key " + verb + " nothing", DefaultText: "random"}
}

// withKey adds the idempotency key to an error after which the call can be repeated.
func withKey(err error, key string) error {
	if errors.Is(err, client.ErrOutcomeUnknown) || errors.Is(err, client.ErrServer) {
		return fmt.Errorf("%w (to retry without a duplicate, use --idempotency-key %s)", err, key)
	}
	return err
}

// noun returns the name of a kind of records in texts.
func noun(kind string) string {
	if kind == "lipsync" {
		return "lip-sync"
	}
	return kind
}

func example(kind, line string) string { return "  studio " + kind + " " + line }

func webhookFlag() cli.Flag {
	return &cli.StringFlag{Name: "webhook-url", Usage: "URL that receives notifications"}
}

// webhookOf returns the members of a request that register the webhook URL in the flags, if any.
func webhookOf(command *cli.Command) (data gen.Nullable[gen.WebhookData], toggle gen.Nullable[gen.WebhookSwitch]) {
	url := optionalFlag(command, "webhook-url")
	if url.IsZero() {
		return data, toggle
	}
	return gen.Value(gen.WebhookData{WebhookURL: url}), gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)})
}
