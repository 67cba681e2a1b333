package main

import (
	"context"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func workCommand() *cli.Command {
	flags := append([]cli.Flag{databaseFlag("required"), keyFileFlag(), mediaFlag("required")}, rendererFlags()...)
	return groupFlags(commandline.Leaf("work", "only render, for daemons with the same PostgreSQL database and files", "", flags, work))
}

func work(ctx context.Context, command *cli.Command) error {
	cfg, err := rendererConfigOf(command)
	if err != nil {
		return err
	}
	if cfg.Database, err = databaseOf(command, defaultDatabase); err != nil {
		return err
	}
	switch {
	case isSQLite(cfg.Database):
		return usagef("studiod work needs a PostgreSQL database in --db; the daemon of a SQLite database renders itself")
	case cfg.Media == "":
		return usagef("studiod work needs --media with the bucket of studiod serve, such as s3://BUCKET/PREFIX?region=…")
	case cfg.Render.Workers == noWorkers:
		return usagef("--render-workers of studiod work must be between 1 and %d", maxRenderWorkers)
	case cfg.Render.Missing != "":
		return usagef("%s; or set another renderer with --renderer exec:PROGRAM", cfg.Render.Missing)
	}
	ctx = untilStopped(ctx)
	useLogger(cfg.Logger)
	if err := hideProcess(); err != nil {
		return err
	}
	w, err := openWorker(ctx, cfg)
	if err != nil {
		return err
	}
	forgetSecrets()
	return w.runWorker(ctx)
}

// openWorker opens a daemon that has no listener and only renders.
func openWorker(ctx context.Context, cfg daemonConfig) (*daemon, error) {
	d := &daemon{cfg: cfg}
	return d, d.open(ctx, d.check, d.openMonitoring, d.openStorage, func(ctx context.Context) error {
		d.studio = studio.New(d.renderingConfig())
		return d.openPool(ctx)
	})
}

// runWorker renders until ctx is done. Running renderings may then finish within the stop timeout. All
// others are left to other workers.
func (d *daemon) runWorker(ctx context.Context) error {
	work, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	var working sync.WaitGroup
	working.Go(func() { d.pool.Run(work, ctx) })
	working.Go(func() { d.pool.Listen(ctx) })
	working.Go(func() { d.upkeep(ctx, nil) })
	d.showAdmin(ctx)
	d.cfg.Logger.InfoContext(ctx, "working")
	<-ctx.Done()
	d.admin.stopping()
	d.cfg.Logger.InfoContext(work, "stopping")
	defer time.AfterFunc(d.cfg.StopTimeout, cutOff).Stop()
	working.Wait()
	d.cfg.Logger.InfoContext(work, "stopped")
	return d.close()
}
