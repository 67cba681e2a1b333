package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/api/auth"
	"github.com/avatarstudio/avatarstudio/server/internal/api/ratelimit"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/telemetry/tracing"
)

// serviceKeyName is the name of the Key of a studio.Config in the database.
const serviceKeyName = "service"

// renderingConfig returns the configuration of the service for rendering.
func (d *daemon) renderingConfig() studio.Config {
	cfg := studio.Config{Store: d.store, Passwords: d.cfg.Passwords, Media: d.media}
	if d.cfg.AutoConsent {
		cfg.AutoConsent = simulate.Consent
	}
	return cfg
}

// openStudio creates the service of a daemon that serves.
func (d *daemon) openStudio(ctx context.Context) (err error) {
	cfg := d.renderingConfig()
	if cfg.Key, err = d.store.Key(ctx, serviceKeyName, newKey); err != nil {
		return err
	}
	if cfg.DataPlaneID, err = d.store.InstallationID(ctx); err != nil {
		return err
	}
	cfg.PublicURL = strings.TrimSuffix(d.cfg.PublicURL, "/")
	cfg.MaxInProgress, cfg.MaxMediaBytes, cfg.MaxVideoSeconds = maxInProgress(d.cfg.UserRate), d.cfg.MaxMediaBytes, d.cfg.MaxVideoSeconds
	cfg.OnStreamEnd, cfg.TraceParent = d.logStreamEnd, tracing.Parent
	cfg.IssueAccessToken, cfg.Webhooks = d.tokens.Issue, d.sender
	d.studio = studio.New(cfg)
	d.tokens.APIKeys = &auth.APIKeys{Check: d.studio.CheckAPIKey, Now: time.Now}
	return nil
}

// maxInProgress returns how many creations of a user may wait or be rendered: those of ten seconds at the rate of the
// user, and never fewer than a batch.
func maxInProgress(rate int) int {
	const batch = 1000
	return max(10*cmp.Or(rate, ratelimit.DefaultRate), batch)
}

func newKey() []byte { return []byte(rand.Text()) }
