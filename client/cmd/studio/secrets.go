package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client/webhook"
)

const maxSecretFile = 64 << 10

func secretFileFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "secret-file", Usage: `file with the webhook secrets, one per line, as "studio webhook secret" prints them; - is the standard input`,
		DefaultText: "STUDIO_WEBHOOK_SECRET",
	}
}

// secrets returns the secrets from the file or the environment. If the flag named by without is set, there are
// none.
func (p *program) secrets(command *cli.Command, without string) ([]webhook.Secret, error) {
	if command.Bool(without) {
		if command.IsSet("secret-file") {
			return nil, usagef("use either --secret-file or --%s", without)
		}
		return nil, nil
	}
	text := p.WebhookSecret
	if name := command.String("secret-file"); name != "" {
		data, err := p.readFile(name)
		if err != nil {
			return nil, commandline.Usage(err)
		}
		text = string(data)
	}
	var secrets []webhook.Secret
	for field := range strings.FieldsSeq(text) {
		secret, err := webhook.ParseSecret(field)
		if err != nil {
			return nil, commandline.Usage(err)
		}
		secrets = append(secrets, secret)
	}
	if len(secrets) == 0 {
		return nil, usagef("missing secret; use --secret-file, set STUDIO_WEBHOOK_SECRET, or use --%s", without)
	}
	return secrets, nil
}

func (p *program) readFile(name string) ([]byte, error) {
	in := p.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSecretFile+1))
	if err == nil && len(data) > maxSecretFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxSecretFile)
	}
	return data, err
}
