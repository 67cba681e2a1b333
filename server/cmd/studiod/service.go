package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/tracing"
	"github.com/avatarstudio/avatarstudio/server/internal/wire"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// The names of the keys in the database that sign pagination cursors and links to shared projects.
const (
	cursorKeyName = "cursor"
	shareKeyName  = "share"
)

// renderingConfig returns the configuration of the service for rendering.
func (d *daemon) renderingConfig() studio.Config {
	cfg := wire.Config(d.store, d.cfg.Passwords)
	cfg.Media = d.media
	if d.cfg.AutoConsent {
		cfg.AutoConsent = simulate.Consent
	}
	return cfg
}

// studioConfig returns the configuration of the service of a daemon that serves.
func (d *daemon) studioConfig(ctx context.Context) (cfg studio.Config, err error) {
	cfg = d.renderingConfig()
	if cfg.CursorKey, err = d.store.Key(ctx, cursorKeyName, newKey); err != nil {
		return cfg, err
	}
	if cfg.ShareKey, err = d.store.Key(ctx, shareKeyName, newKey); err != nil {
		return cfg, err
	}
	if cfg.DataPlaneID, err = d.store.InstallationID(ctx); err != nil {
		return cfg, err
	}
	cfg.PublicURL = strings.TrimSuffix(d.cfg.PublicURL, "/")
	cfg.Operators = d.store
	cfg.MaxInProgress, cfg.MaxMediaBytes, cfg.MaxVideoSeconds = maxInProgress(d.cfg.UserRate), d.cfg.MaxMediaBytes, d.cfg.MaxVideoSeconds
	cfg.OnStreamEnd = d.recordStreamEnd
	cfg.SendWebhook = wire.SendWebhook(d.sendWebhook)
	if d.traces != nil {
		cfg.TraceParent = tracing.Parent
	}
	cfg.IssueAccessToken = d.tokens.Issue
	cfg.CheckWebhook = wire.CheckWebhook(d.sender)
	return cfg, nil
}

// maxInProgress returns how many creations of a user may wait or be rendered: those of ten seconds at the rate of the user,
// and never fewer than a batch.
func maxInProgress(rate int) int {
	const batch = 1000
	return max(10*cmp.Or(rate, ratelimit.DefaultRate), batch)
}

// sendWebhook makes one delivery attempt in the trace of the request.
func (d *daemon) sendWebhook(ctx context.Context, message sender.Message) sender.Attempt {
	message.TraceParent = tracing.Parent(ctx)
	return d.sender.Send(ctx, message)
}

func newKey() []byte { return []byte(rand.Text()) }
