// Package render makes the files of avatars, videos and lip-syncs. A [Pool] finds the subjects that are due and renders
// them with a [studio.Renderer]. [Exec] is one that runs a program in a sandbox, and package simulate has one that only
// waits.
//
// # Assignment
//
// A row of the table "renderings" says when a subject is due, which process renders it, and until when it has claimed
// it. A claim writes the ID of the process into the row, and the process renews it more than once a second. On
// PostgreSQL, another process can claim the subject if the claim was not renewed for [store.RenderLease]. A rendering
// is repeated until its result is written.
//
// One statement claims all due renderings, or as many as there are free workers. Each of these goes to the user with
// the fewest renderings in progress on all machines. If the process in which a rendering becomes due has no free
// worker, it notifies the other processes. A worker that finishes claims again if renderings may wait for one. On
// PostgreSQL, every process also looks for due renderings every five seconds, so a lost notification only causes a
// delay, and when the next lease on a rendering ends. The claim replaces a queue such as River. A job for each
// rendering would be written four times and need two more commits.
package render

import (
	"context"
	"errors"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	renderWork = "render" // for faultlog
	// releaseTimeout bounds the release of a rendering after its context has ended.
	releaseTimeout = 2 * time.Second
)

// render renders a claimed subject with a reserved worker. It frees the worker, and starts the next renderings if there
// are any. After an error, or if ctx ends first, it releases the subject so that any process may claim it.
func (p *Pool) render(ctx, stop context.Context, subject *studio.Subject) {
	defer p.claimed.CompareAndDelete(subject.ID, subject) // another worker may have claimed it after a release
	err := p.renderOnce(ctx, stop, *subject)
	if err != nil {
		if ctx.Err() == nil {
			p.faults.Error(ctx, renderWork, err)
			studio.Pause(stop, errorPause)
		}
		for !p.release(ctx, subject.ID) && stop.Err() == nil {
			studio.Pause(stop, errorPause)
		}
	}
	<-p.slots
	if err != nil || p.waiting.Load() {
		p.Wake()
	}
}

// release releases the claim on a subject, even if ctx has ended. It reports whether it succeeded.
func (p *Pool) release(ctx context.Context, subjectID string) (done bool) {
	timeoutContext, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	err := p.Store.ReleaseRendering(timeoutContext, subjectID, p.Store.ProcessID())
	p.faults.Error(ctx, renderWork, err)
	return err == nil
}

// renderOnce renders a subject once and writes the result. After an error the subject is still due.
func (p *Pool) renderOnce(ctx, stop context.Context, subject studio.Subject) error {
	subjectID := subject.ID
	kind, outcome, began := subject.Kind, Discarded, time.Now()
	spanContext, span := p.startSpan(ctx, subject)
	defer func() { endSpan(span, outcome) }()
	renderContext, cancel := context.WithCancelCause(ctx)
	timeoutContext, cancelTimeout := context.WithTimeout(renderContext, p.Timeout)
	release := p.leases.hold(lease{subjectID, timeoutContext, cancel})
	result, failure := p.Renderer.Render(timeoutContext, subject)
	release()
	cancelTimeout()
	notHeld := errors.Is(context.Cause(renderContext), errNotHeld)
	cancel(nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	took := time.Since(began)
	defer func() { p.OnRendering(kind, outcome, took) }()
	if notHeld {
		p.Logger.InfoContext(ctx, "rendering result discarded", "id", subjectID, "err", errNotHeld)
		return nil
	}
	var err error
	studio.Persist(spanContext, stop, func(ctx context.Context) bool { // the result may have taken minutes
		subject, err = p.Studio.Rendered(ctx, subjectID, result, failure)
		if errors.Is(err, studio.ErrBusy) {
			p.faults.Error(ctx, renderWork, err)
			return false
		}
		return true
	})
	if errors.Is(err, studio.ErrNotFound) {
		return nil // the subject was deleted during the rendering
	}
	if err != nil {
		return err
	}
	outcome = outcomeOf(failure, subject)
	log := p.Logger.With("kind", subject.Kind, "id", subject.ID, "status", subject.Status, "duration", took, "request_id", subject.RequestID)
	if outcome == Succeeded {
		log.InfoContext(ctx, "rendered")
	} else {
		log.WarnContext(ctx, "not rendered", "outcome", string(outcome), "err", failure)
	}
	return nil
}
