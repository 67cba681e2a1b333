package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
)

func (p *program) rootCommand() *cli.Command {
	root := &cli.Command{
		Name:  "studio",
		Usage: "work with Avatar Studio",
		Description: `Flags override environment variables, and environment variables override the login stored by
"studio login". The variables are STUDIO_BASE_URL, STUDIO_EMAIL and STUDIO_PASSWORD or STUDIO_TOKEN,
and STUDIO_WORKSPACE.

Examples:
  studio login --base-url http://127.0.0.1:8080 --email ada@example.com
  studio avatar create --title Ada --watch
  studio completion bash

` + exitCodes,
		Commands: []*cli.Command{
			p.loginCommand(),
			p.logoutCommand(),
			p.projectCommand(),
			p.avatarCommand(),
			p.videoCommand(),
			p.lipsyncCommand(),
			p.voiceCommand(),
			p.eventsCommand(),
			p.eventCommand(),
			p.endpointCommand(),
			p.webhookCommand(),
			p.listenCommand(),
		},
	}
	commandline.Prepare(root, p.Stdin, p.Stdout, p.Stderr)
	return root
}

// group returns a command with subcommands and examples.
func group(name, usage, examples string, commands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Description: "Examples:\n" + examples, Commands: commands}
}

// leaf returns a command with examples that has the flag --json. See [commandline.Leaf].
func leaf(name, usage, argsUsage, examples string, flags []cli.Flag, action cli.ActionFunc) *cli.Command {
	flags = append(flags, &cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"})
	command := commandline.Leaf(name, usage, argsUsage, flags, action)
	command.Description = "Examples:\n" + examples
	return command
}

// serviceLeaf is like [leaf] for a command that calls the service first of all.
func (p *program) serviceLeaf(name, usage, argsUsage, examples string, flags []cli.Flag, action serviceAction) *cli.Command {
	return leaf(name, usage, argsUsage, examples, serviceFlags(flags...), func(ctx context.Context, command *cli.Command) error {
		c, err := p.service(command)
		if err != nil {
			return err
		}
		return action(ctx, command, c)
	})
}

// table returns the table of a command, for records in its order.
func (p *program) table(command *cli.Command, columns ...string) *commandline.Table {
	return commandline.NewTable(p.Stdout, command.Bool("json"), columns...)
}

// serviceAction is the action of a command with a client for the service.
type serviceAction func(ctx context.Context, command *cli.Command, c *client.Client) error
