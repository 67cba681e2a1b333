package main

import (
	"context"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// openConsole creates the console, which shows the limits of the pool and the deliverer. The daemon's service must
// exist.
func (d *daemon) openConsole(ctx context.Context) {
	if !d.cfg.Console {
		return
	}
	secure := d.certificate != nil || strings.HasPrefix(d.cfg.PublicURL, "https:")
	if !secure && len(d.cfg.TrustedProxies) > 0 {
		d.cfg.Logger.WarnContext(ctx, "browsers may send console sessions over http; if a proxy adds TLS, set --public-url https://…")
	}
	cfg := console.Config{
		Studio: d.studio, Store: d.store, ServeFile: d.media.ServeFile, MapError: rest.MapError, Admit: d.userRates.AdmitPage,
		Revoked: d.revocations.Revokes, Secure: secure, Logger: d.cfg.Logger,
		Daemon: console.Daemon{Version: commandline.Version(), Started: time.Now(), Workers: d.deliver.Workers, RenderWorkers: d.pool.Workers, Missing: d.cfg.Render.Missing},
		Guide:  guide.Path + "/",
	}
	if d.backups != nil {
		cfg.Backup = d.backups.Status
	}
	if d.mailer != nil {
		cfg.MailLink = d.mailLink
	}
	if len(d.cfg.Render.Program) > 0 {
		cfg.NoVideo = simulate.NoVideo
	}
	d.console = console.New(cfg)
}
