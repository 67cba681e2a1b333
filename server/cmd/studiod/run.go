package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// run serves until ctx is done. It then stops in this order: background work takes no new jobs, the server
// takes no new requests, and the database is closed. Work in flight may finish within the stop timeout.
func (d *daemon) run(ctx context.Context) error {
	work, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	stop, stopWork := context.WithCancel(work)
	read, stopReading := context.WithCancel(work)
	defer stopReading()
	var working, reading sync.WaitGroup
	working.Go(func() { d.pool.Run(work, stop) })
	working.Go(func() { d.deliver.Run(work, stop) })
	working.Go(func() { d.upkeep(stop, d.studio) })
	working.Go(func() { d.sweepMedia(stop) })
	if d.backups != nil {
		working.Go(func() { d.backups.Run(stop) })
	}
	reading.Go(func() { d.revocations.Run(read) }) // until all responses have been written
	reading.Go(func() { d.tokens.RunKeys(read, d.readSigningKeys, d.cfg.Logger) })
	if d.certificate != nil {
		reading.Go(func() { d.certificate.Run(read, d.cfg.Logger) })
	}
	reading.Go(func() { releaseMemory(read) })

	served := make(chan error, 1)
	go func() { served <- d.http.Serve(d.listener) }()
	if d.plain != nil {
		go func() { _ = d.plain.Serve(d.plainListener) }() // until the server is closed
	}
	d.showAdmin(ctx)
	d.warnOfPause(ctx)
	if unserved := d.cfg.Sockets.Ready(); len(unserved) > 0 {
		d.cfg.Logger.WarnContext(ctx, "a socket unit of systemd listens where no flag says so; nobody responds there", "addresses", unserved)
	}
	d.cfg.Logger.InfoContext(ctx, "serving", "url", d.url())

	var err error
	select {
	case err = <-served:
	case <-d.store.Lost():
		err = store.ErrLost
		cutOff() // without the database nothing can be recorded
	case <-ctx.Done():
	}
	began := time.Now()
	d.admin.stopping()
	d.cfg.Sockets.Stopping()
	stopWork()
	d.cfg.Logger.InfoContext(ctx, "stopping")
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.StopTimeout)
	defer cancel()
	context.AfterFunc(bound, cutOff)
	if d.cfg.Sockets.Kept() {
		// New requests wait for the next process, so this one serves until its work is done.
		working.Wait()
		bound, cancel = context.WithDeadline(context.WithoutCancel(ctx), began.Add(d.cfg.StopTimeout*5/4))
		defer cancel()
		d.drain(bound)
	}
	shutdown := d.http.Shutdown(bound)
	if errors.Is(shutdown, context.DeadlineExceeded) {
		shutdown = d.http.Close()
	}
	working.Wait()
	if d.mailer != nil {
		d.mailer.Close()
	}
	stopReading()
	reading.Wait()
	d.cfg.Logger.InfoContext(ctx, "stopped")
	return errors.Join(err, shutdown, d.close())
}

// drain ends the connections of clients, except for requests in flight.
func (d *daemon) drain(ctx context.Context) {
	var draining sync.WaitGroup
	defer draining.Wait()
	for _, l := range []*httpserver.Listener{d.listener, d.plainListener} {
		if l != nil {
			draining.Go(func() { l.Drain(ctx) })
		}
	}
}
