package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	defaultBaseInterval  = 500 * time.Millisecond
	defaultMaxInterval   = 10 * time.Second
	defaultEventInterval = 30 * time.Second
)

// Poll configures how often [Client.WaitAvatar], [Client.WaitVideo] and [Client.WaitLipsync] poll the
// service. Each actual interval is random between half of the configured interval and all of it. The zero
// value uses the defaults.
type Poll struct {
	// BaseInterval is the first interval. The interval doubles with each poll. Defaults to 500
	// milliseconds.
	BaseInterval time.Duration

	// MaxInterval limits all intervals except EventInterval. Defaults to 10 seconds.
	MaxInterval time.Duration

	// EventInterval is the interval while events arrive, in the stream of the service or at [Config].Receiver, in case
	// one gets lost. Defaults to 30 seconds.
	EventInterval time.Duration
}

func (p Poll) validate() error {
	return cmp.Or(
		notNegative("Poll.BaseInterval", p.BaseInterval),
		notNegative("Poll.MaxInterval", p.MaxInterval),
		notNegative("Poll.EventInterval", p.EventInterval),
	)
}

func (p Poll) withDefaults() Poll {
	return Poll{
		BaseInterval:  cmp.Or(p.BaseInterval, defaultBaseInterval),
		MaxInterval:   cmp.Or(p.MaxInterval, defaultMaxInterval),
		EventInterval: cmp.Or(p.EventInterval, defaultEventInterval),
	}
}

// UntilConsentPending makes [Client.WaitAvatar] also return an avatar that is consent_pending, so that the
// program can ask for consent. Other calls ignore it.
func UntilConsentPending() CallOption { return optionFunc(func(c *call) { c.untilConsent = true }) }

// WaitAvatar waits until an avatar is published, failed or consent_failed, and returns the avatar in that
// state. It keeps waiting while the avatar is consent_pending, unless [UntilConsentPending] is given. See
// [Client.SubmitConsent].
//
// WaitAvatar opens the stream of events that [Client.StreamEvents] returns, waits for the event, and then requests the
// avatar. All waits of a Client share one stream, which closes with the last of them. With [Config].Receiver, the event
// arrives there instead. WaitAvatar also polls the service about every 30 seconds, in case the event gets lost or the
// avatar is deleted. If the service does not support the request (405 or 501), WaitAvatar returns an avatar with only the
// id and the status of the event.
//
// While the service refuses the stream, or the stream does not begin within two seconds, WaitAvatar only polls: first
// after half a second and later every 10 seconds. After a refusal, the waits of a Client poll for a minute before one tries
// the stream again. [Config].Poll changes the intervals.
//
// WaitAvatar polls again after a temporary failure, such as [ErrServer], [ErrRateLimited], no response, or
// a temporary error of a [TokenSource]. If ctx ends after such a failure, the returned error wraps both
// the error of ctx and the failure. Any other error ends the wait.
func (c *Client) WaitAvatar(ctx context.Context, id string, options ...CallOption) (*gen.Avatar, error) {
	return wait(ctx, c, subject{gen.EventTypeAvatar, id}, newCall(c, options), pollFuncs[gen.Avatar]{
		get:       func(ctx context.Context) (*gen.Avatar, error) { return c.GetAvatar(ctx, id, options...) },
		status:    func(a *gen.Avatar) string { return string(a.Status) },
		progress:  func(a *gen.Avatar) *float64 { return a.Progress },
		fromEvent: func(status string) *gen.Avatar { return &gen.Avatar{AvatarID: id, Status: gen.AvatarStatus(status)} },
	})
}

// WaitVideo waits until a video made from an avatar is succeeded or failed, and returns the video in that
// state. It works like [Client.WaitAvatar].
func (c *Client) WaitVideo(ctx context.Context, id string, options ...CallOption) (*gen.Video, error) {
	return wait(ctx, c, subject{gen.EventTypeAvatarInference, id}, newCall(c, options), pollFuncs[gen.Video]{
		get:      func(ctx context.Context) (*gen.Video, error) { return c.GetVideo(ctx, id, options...) },
		status:   func(v *gen.Video) string { return string(v.Status) },
		progress: func(v *gen.Video) *float64 { return v.Progress },
		fromEvent: func(status string) *gen.Video {
			return &gen.Video{InferenceID: id, Status: gen.InferenceStatus(status)}
		},
	})
}

// WaitLipsync waits until a lip-sync is succeeded or failed, and returns the lip-sync in that state. It
// works like [Client.WaitAvatar].
func (c *Client) WaitLipsync(ctx context.Context, id string, options ...CallOption) (*gen.Lipsync, error) {
	return wait(ctx, c, subject{gen.EventTypeLipsyncInference, id}, newCall(c, options), pollFuncs[gen.Lipsync]{
		get:      func(ctx context.Context) (*gen.Lipsync, error) { return c.GetLipsync(ctx, id, options...) },
		status:   func(l *gen.Lipsync) string { return string(l.Status) },
		progress: func(l *gen.Lipsync) *float64 { return l.Progress },
		fromEvent: func(status string) *gen.Lipsync {
			return &gen.Lipsync{InferenceID: id, Status: gen.InferenceStatus(status)}
		},
	})
}

// pollFuncs has the functions to poll a record and to read its state.
type pollFuncs[T any] struct {
	get       func(context.Context) (*T, error)
	status    func(*T) string
	progress  func(*T) *float64      // in percent
	fromEvent func(status string) *T // returns a record with only the id and the status of an event
}

// wait polls until the status is final, or consent_pending if the call asks for that. It polls rarely while events arrive.
func wait[T any](ctx context.Context, c *Client, about subject, call *call, ask pollFuncs[T]) (*T, error) {
	awaited := c.events.await(about)
	defer c.events.leave(about, awaited)
	consent := call.untilConsent
	reached := awaited.reached(consent)
	arriving, leave := c.listen(ctx)
	defer leave()
	var (
		happens = reached      // nil once it was closed
		last    error          // last temporary failure
		shown   int64     = -1 // last reported progress
	)
	for bound := c.poll.BaseInterval; ; {
		if closed(happens) {
			happens, bound = nil, c.poll.BaseInterval
		}
		arrive, changed := arriving()
		got, err := until(ctx, happens, ask.get)
		if err == nil {
			shown = call.reportProgress(ask.progress(got), shown)
		}
		switch {
		case err == nil && (final(ask.status(got)) || consent && awaitsConsent(ask.status(got))):
			return got, nil
		case err == nil:
			last = nil
		case arrive && unsupported(err):
			select {
			case <-reached:
				return ask.fromEvent(c.events.status(awaited)), nil
			case <-changed:
				continue
			case <-ctx.Done():
				return nil, waitError(ctx, last)
			}
		case ctx.Err() != nil:
			return nil, waitError(ctx, last)
		case closed(happens):
			continue
		case !temporary(err):
			return nil, err
		default:
			last = err
		}
		bound = min(bound, c.poll.MaxInterval)
		delay := between(bound)
		bound += min(bound, c.poll.MaxInterval-bound)
		if arrive && happens != nil && last == nil && call.progress == nil {
			delay = between(c.poll.EventInterval)
		}
		delay = max(delay, retryAfterOf(last))
		select {
		case <-changed:
			bound = c.poll.BaseInterval
			delay = between(bound) // all waits get here at the same time
		case <-happens:
		case <-ctx.Done():
		case <-time.After(delay):
			continue
		}
		select {
		case <-happens:
		case <-ctx.Done():
			return nil, waitError(ctx, last)
		case <-time.After(delay):
		}
	}
}

// between returns a random duration between half of interval and all of it.
func between(interval time.Duration) time.Duration { return interval/2 + rand.N(interval/2+1) }

// until calls get and cancels it when the event happens, because its response would show an earlier state.
func until[T any](ctx context.Context, happens <-chan struct{}, get func(context.Context) (*T, error)) (*T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if happens != nil {
		go func() {
			select {
			case <-happens:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return get(ctx)
}

func closed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
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

func unsupported(err error) bool {
	errorResponse, ok := errors.AsType[*Error](err)
	return ok && (errorResponse.StatusCode == http.StatusNotImplemented || errorResponse.StatusCode == http.StatusMethodNotAllowed)
}

func awaitsConsent(status string) bool { return status == string(gen.AvatarStatusConsentPending) }

// temporary reports whether a later poll may succeed. That is true for transient responses of the service,
// for any net.Error, and for errors whose method Temporary returns true.
func temporary(err error) bool {
	if errorResponse, ok := errors.AsType[*Error](err); ok {
		return errorResponse.StatusCode == http.StatusRequestTimeout || errors.Is(errorResponse, ErrRateLimited) ||
			errors.Is(errorResponse, ErrServer) && errorResponse.StatusCode != http.StatusNotImplemented
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	said, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && said.Temporary()
}
