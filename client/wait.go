package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	defaultBaseInterval = 500 * time.Millisecond
	defaultMaxInterval  = 5 * time.Second
)

// Poll configures how often [Client.WaitAvatar], [Client.WaitVideo] and [Client.WaitLipsync] poll the
// service. Each actual interval is random between half of the configured interval and all of it. The zero
// value uses the defaults.
type Poll struct {
	// BaseInterval is the first interval. The interval doubles with each poll. Defaults to 500
	// milliseconds.
	BaseInterval time.Duration

	// MaxInterval limits all intervals. Defaults to 5 seconds.
	MaxInterval time.Duration
}

func (p Poll) withDefaults() Poll {
	return Poll{
		BaseInterval: cmp.Or(p.BaseInterval, defaultBaseInterval),
		MaxInterval:  cmp.Or(p.MaxInterval, defaultMaxInterval),
	}
}

// UntilConsentPending makes [Client.WaitAvatar] also return an avatar that is consent_pending, so that the
// program can ask for consent. Other calls ignore it.
func UntilConsentPending() CallOption { return optionFunc(func(c *call) { c.untilConsent = true }) }

// WaitAvatar waits until an avatar is published, failed or consent_failed, and returns the avatar in that
// state. It keeps waiting while the avatar is consent_pending, unless [UntilConsentPending] is given. See
// [Client.SubmitConsent].
//
// WaitAvatar polls the service, first after half a second and later every 5 seconds, or as [Config].Poll says, and not
// before a Retry-After has passed.
//
// WaitAvatar polls again after a temporary failure, such as [ErrServer], [ErrRateLimited], no response, or
// a temporary error of a [TokenSource]. If ctx ends after such a failure, the returned error wraps both
// the error of ctx and the failure. Any other error ends the wait.
func (c *Client) WaitAvatar(ctx context.Context, id string, options ...CallOption) (*gen.Avatar, error) {
	return wait(ctx, c, newCall(c, options), pollFuncs[gen.Avatar]{
		get:      func(ctx context.Context) (*gen.Avatar, error) { return c.GetAvatar(ctx, id, options...) },
		status:   func(a *gen.Avatar) string { return string(a.Status) },
		progress: func(a *gen.Avatar) *float64 { return a.Progress },
	})
}

// WaitVideo waits until a video made from an avatar is succeeded or failed, and returns the video in that
// state. It works like [Client.WaitAvatar].
func (c *Client) WaitVideo(ctx context.Context, id string, options ...CallOption) (*gen.Video, error) {
	return wait(ctx, c, newCall(c, options), pollFuncs[gen.Video]{
		get:      func(ctx context.Context) (*gen.Video, error) { return c.GetVideo(ctx, id, options...) },
		status:   func(v *gen.Video) string { return string(v.Status) },
		progress: func(v *gen.Video) *float64 { return v.Progress },
	})
}

// WaitLipsync waits until a lip-sync is succeeded or failed, and returns the lip-sync in that state. It
// works like [Client.WaitAvatar].
func (c *Client) WaitLipsync(ctx context.Context, id string, options ...CallOption) (*gen.Lipsync, error) {
	return wait(ctx, c, newCall(c, options), pollFuncs[gen.Lipsync]{
		get:      func(ctx context.Context) (*gen.Lipsync, error) { return c.GetLipsync(ctx, id, options...) },
		status:   func(l *gen.Lipsync) string { return string(l.Status) },
		progress: func(l *gen.Lipsync) *float64 { return l.Progress },
	})
}

// pollFuncs has the functions to poll a record and to read its state.
type pollFuncs[T any] struct {
	get      func(context.Context) (*T, error)
	status   func(*T) string
	progress func(*T) *float64 // in percent
}

// wait polls until the status is final, or consent_pending if the call asks for that.
func wait[T any](ctx context.Context, c *Client, call *call, ask pollFuncs[T]) (*T, error) {
	var (
		last     error      // last temporary failure
		shown    int64 = -1 // last reported progress
		interval       = min(c.poll.BaseInterval, c.poll.MaxInterval)
	)
	for {
		got, err := ask.get(ctx)
		switch {
		case err == nil:
			last = nil
			shown = call.reportProgress(ask.progress(got), shown)
			if status := ask.status(got); final(status) || call.untilConsent && status == string(gen.AvatarStatusConsentPending) {
				return got, nil
			}
		case ctx.Err() != nil:
			return nil, waitError(ctx, last)
		case !temporary(err):
			return nil, err
		default:
			last = err
		}
		delay := interval/2 + rand.N(interval/2+1)
		if pause(ctx, max(delay, retryAfterOf(last)), nil) != nil {
			return nil, waitError(ctx, last)
		}
		interval += min(interval, c.poll.MaxInterval-interval)
	}
}

func waitError(ctx context.Context, last error) error {
	if last != nil {
		return fmt.Errorf("client: waiting for the end: %w: %w", ctx.Err(), last)
	}
	return fmt.Errorf("client: waiting for the end: %w", ctx.Err())
}

// final reports whether no other status follows this one.
func final(status string) bool {
	switch status {
	case string(gen.AvatarStatusPublished), string(gen.AvatarStatusFailed), string(gen.AvatarStatusConsentFailed),
		string(gen.InferenceStatusSucceeded):
		return true
	}
	return false
}

// temporary reports whether a later poll may succeed. That is true for transient responses of the service and for any
// net.Error.
func temporary(err error) bool {
	if _, responded := errors.AsType[*Error](err); responded {
		return idempotent.retries(&attempt{err: err}, false)
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}
