package main

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/mail"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

// smtpPasswordVariable is the environment variable with the password for the mail server. Others could read the
// arguments.
const smtpPasswordVariable = "STUDIO_SMTP_PASSWORD" //nolint:gosec // a name

func smtpFlag() cli.Flag {
	return setting(&cli.StringFlag{
		Name: "smtp", Usage: "also send links and alerts by mail, over smtp://USER@HOST:587?from=ADDRESS or smtps://…, with the password in " + smtpPasswordVariable,
		DefaultText: "no mails",
	})
}

// mailOf reads the flag that smtpFlag defines. It follows domainOf, which may set the public URL.
func mailOf(command *cli.Command, cfg *daemonConfig) error {
	cfg.Mail.URL = command.String("smtp")
	if cfg.Mail.URL == "" {
		return nil
	}
	if cfg.PublicURL == "" || !cfg.Console {
		return usagef("--smtp needs --public-url or --domain, and the console, because its mails link to that")
	}
	cfg.Mail.Password = os.Getenv(smtpPasswordVariable)
	public, err := url.Parse(cfg.PublicURL)
	if err != nil {
		return commandline.Usage(err)
	}
	cfg.Mail.Name = public.Hostname()
	if address, err := netip.ParseAddr(cfg.Mail.Name); err == nil { // RFC 5321, section 4.1.3
		cfg.Mail.Name = "[" + address.String() + "]"
		if address.Is6() {
			cfg.Mail.Name = "[IPv6:" + address.String() + "]"
		}
	}
	return nil
}

func (d *daemon) openMailer(context.Context) (err error) {
	if d.cfg.Mail.URL == "" {
		return nil
	}
	cfg := d.cfg.Mail
	cfg.OnMail, cfg.Logger = d.metrics.Mailed, d.cfg.Logger
	d.mailer, err = mail.New(cfg)
	if errors.Is(err, mail.ErrPassword) {
		return usagef("--smtp: %w; the password is in %s", err, smtpPasswordVariable)
	} else if err != nil {
		return usagef("--smtp: %w", err)
	}
	return nil
}

// mailLink queues the mail with a link.
func (d *daemon) mailLink(email, link string, purpose studio.LinkPurpose) bool {
	message := mail.Reset
	if purpose == studio.InviteLink {
		message = mail.Invitation
	}
	return d.mailer.Queue(message(email, link))
}

// mailAlert sends the mail about a webhook URL, for deliver.Config. A mail that is refused is not repeated before the
// next alert.
func (d *daemon) mailAlert(ctx context.Context, alert store.Alert) error {
	details := d.studio.PublicURL + console.WebhooksPath
	message := mail.FailingWebhook(alert.Email, alert.URL, alert.FailingSince, details)
	if !alert.DisabledAt.IsZero() {
		message = mail.DisabledWebhook(alert.Email, alert.URL, details)
	}
	if err := d.mailer.Send(ctx, message); !errors.Is(err, mail.ErrRefused) {
		return err
	}
	return nil
}
