package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
)

// kind has what the commands of avatars, videos and lip-syncs differ in.
type kind struct {
	name, noun      string // noun is the name in texts
	usage, examples string

	// Of the creation.
	flags  []cli.Flag // for members of the request: --sync-mode sets sync_mode
	files  []fileFlag
	create func(members []byte) (request, error)

	get func(id string) request

	// Of the list.
	statuses string
	filters  []cli.Flag
	list     func(command *cli.Command, limit int, cursor *string) request

	// Of the download.
	file            string
	main, thumbnail func(id string) client.File // thumbnail may be nil

	deletes string
	delete  func(ctx context.Context, c *client.Client, id string) error
}

// kindCommand returns the commands of a kind, and further ones.
func (p *program) kindCommand(k kind, further ...*cli.Command) *cli.Command {
	leaf := func(name, usage, argsUsage, examples string, flags []cli.Flag, action func(context.Context, *cli.Command, *client.Client, kind) error) *cli.Command {
		return p.serviceLeaf(name, usage, argsUsage, examples, flags, func(ctx context.Context, command *cli.Command, c *client.Client) error {
			return action(ctx, command, c, k)
		})
	}
	show := leaf("show", "show the "+k.noun+" with this id", "ID", example(k.name, "show ID"), nil, func(ctx context.Context, command *cli.Command, c *client.Client, k kind) error {
		return p.show(ctx, command, c, k.get(command.Args().First()))
	})
	show.Aliases = []string{"get"}
	return group(k.name, k.usage, k.examples, append([]*cli.Command{
		leaf("create", "create a new "+k.noun+" and print its id", "", k.examples, createFlags(k), p.create),
		show,
		leaf("watch", "print the status of the "+k.noun+" until it is final; the exit code is 5 if creation failed", "ID",
			example(k.name, "watch ID"), nil, p.watchOne),
		leaf("download", "write the "+k.file+" to a file; resumes an interrupted download", "ID",
			example(k.name, "download ID -o FILE"), downloadFlags(k), p.download),
		leaf("list", "list "+k.noun+"s, newest first", "", example(k.name, "list --status failed\n  studio "+k.name+" list --all --json"),
			listFlags(k), p.list),
		leaf("delete", "delete the "+k.deletes+" and its files, and cancel its notifications", "ID", example(k.name, "delete ID"), nil, p.delete),
	}, further...)...)
}

func createFlags(k kind) []cli.Flag {
	flags := k.flags
	for _, file := range k.files {
		flags = append(flags, &cli.StringFlag{Name: file.name, Usage: "file to upload instead of --" + file.url})
	}
	return append(flags,
		&cli.StringFlag{Name: "title", Usage: "title of the " + k.noun},
		idempotencyKeyFlag("creates"),
		&cli.BoolFlag{Name: "watch", Usage: "wait until the creation is finished, like the watch command"})
}

func (p *program) create(ctx context.Context, command *cli.Command, c *client.Client, k kind) error {
	key := cmp.Or(command.String("idempotency-key"), uuid.NewString())
	flags := []string{"--idempotency-key", key}
	for _, file := range k.files {
		if err := p.uploadFlag(ctx, c, command, file); err != nil {
			return err
		}
		if url := command.String(file.url); command.String(file.name) != "" { // another upload has another URL
			flags = append(flags, "--"+file.url, "'"+strings.ReplaceAll(url, "'", `'\''`)+"'")
		}
	}
	call, err := k.creation(command)
	if err != nil {
		return err
	}
	s, err := send(ctx, c, call, client.WithIdempotencyKey(key))
	switch {
	case err != nil:
	case command.Bool("watch"):
		err = p.watch(ctx, command, c, k, s)
	case command.Bool("json"):
		err = commandline.PrintJSON(p.Stdout, s)
	default:
		_, err = fmt.Fprintln(p.Stdout, commandline.Printable(s.id()))
	}
	return withFlags(err, flags...)
}

// creation returns the request with the members in the flags.
func (k kind) creation(command *cli.Command) (request, error) {
	members := map[string]any{}
	for _, flag := range append(slices.Clip(k.flags), &cli.StringFlag{Name: "title"}) {
		switch name := flag.Names()[0]; {
		case !command.IsSet(name):
		case name == "avatar":
			members["avatar_id"] = command.Value(name)
		case name == "webhook-url":
			members["webhook_data"] = map[string]any{"webhook_url": command.Value(name)}
			members["webhook"] = map[string]any{"enabled": true}
		default:
			members[strings.ReplaceAll(name, "-", "_")] = command.Value(name)
		}
	}
	document, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return k.create(document)
}

// creationOf returns the create function of a kind for a method of the client.
func creationOf[B, T any](method func(*client.Client, context.Context, B, ...client.CallOption) (T, error)) func([]byte) (request, error) {
	return func(members []byte) (request, error) {
		var body B
		err := json.Unmarshal(members, &body)
		return requestOf(method, body), err
	}
}

func idempotencyKeyFlag(verb string) cli.Flag {
	return &cli.StringFlag{Name: "idempotency-key", Usage: "idempotency key; repeating the command with the same key " + verb + " nothing", DefaultText: "random"}
}

// withFlags adds flags to an error after which the command can be repeated, such as that of a full disk for its output.
func withFlags(err error, flags ...string) error {
	if errors.Is(err, client.ErrOutcomeUnknown) || errors.Is(err, client.ErrServer) || errors.As(err, new(*fs.PathError)) {
		return fmt.Errorf("%w (to retry without a duplicate, use %s)", err, strings.Join(flags, " "))
	}
	return err
}

// delete deletes a record. It prints nothing without --json.
func (p *program) delete(ctx context.Context, command *cli.Command, c *client.Client, k kind) error {
	id := command.Args().First()
	if err := k.delete(ctx, c, id); err != nil || !command.Bool("json") {
		return err
	}
	return commandline.PrintJSON(p.Stdout, struct {
		ID      string `json:"id"`
		Deleted bool   `json:"deleted"`
	}{id, true})
}

func example(kind, line string) string { return "  studio " + kind + " " + line }
