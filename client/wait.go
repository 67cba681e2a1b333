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
	defaultBaseInterval     = 500 * time.Millisecond
	defaultMaxInterval      = 10 * time.Second
	defaultReceiverInterval = 30 * time.Second
)

// Poll says how often [Client.WaitAvatar] and its like ask the service. The zero value is the
// default. Each interval is random between half of what is said here and the whole.
type Poll struct {
	// BaseInterval is the first interval; it doubles with each question. Defaults to 500
	// milliseconds.
	BaseInterval time.Duration

	// MaxInterval bounds the intervals but ReceiverInterval. Defaults to 10 seconds.
	MaxInterval time.Duration

	// ReceiverInterval is the interval while the event is still to come to [Config].Receiver.
	// Defaults to 30 seconds.
	ReceiverInterval time.Duration
}

func (p Poll) validate() error {
	switch {
	case p.BaseInterval < 0:
		return errors.New("client: Poll.BaseInterval: must not be negative")
	case p.MaxInterval < 0:
		return errors.New("client: Poll.MaxInterval: must not be negative")
	case p.ReceiverInterval < 0:
		return errors.New("client: Poll.ReceiverInterval: must not be negative")
	}
	return nil
}

func (p Poll) withDefaults() Poll {
	return Poll{
		BaseInterval:     cmp.Or(p.BaseInterval, defaultBaseInterval),
		MaxInterval:      cmp.Or(p.MaxInterval, defaultMaxInterval),
		ReceiverInterval: cmp.Or(p.ReceiverInterval, defaultReceiverInterval),
	}
}

// UntilConsentPending lets [Client.WaitAvatar] return an avatar that is consent_pending too, so that
// the consent can be asked for. It changes no other call.
func UntilConsentPending() CallOption { return optionFunc(func(c *call) { c.untilConsent = true }) }

// WaitAvatar waits until an avatar is published, failed or consent_failed, and returns it whichever
// it is. An avatar that is consent_pending is waited for, unless [UntilConsentPending] is given; see
// [Client.SubmitConsent].
//
// With [Config].Receiver it waits for the event, also one that has come already, and asks the
// service for the avatar then and, to be safe, about every 30 seconds. Without one it asks again and
// again, after half a second at first and every ten seconds in the end. [Config].Poll changes that. A
// service that cannot be asked (405 or 501) is no error with a Receiver: the avatar has its id and
// the status of the event then, and nothing else.
//
// A temporary failure, such as [ErrServer], [ErrRateLimited], no answer, or a temporary error of a
// [TokenSource], ends the wait only when ctx ends; the error is then that of ctx beside the last
// failure. Any other error ends it at once.
func (c *Client) WaitAvatar(ctx context.Context, id string, options ...CallOption) (*gen.Avatar, error) {
	return wait(ctx, c, subject{gen.EventTypeAvatar, id}, newCall(c.doer, options), questions[gen.Avatar]{
		get:      func(ctx context.Context) (*gen.Avatar, error) { return c.GetAvatar(ctx, id, options...) },
		status:   func(a *gen.Avatar) string { return string(a.Status) },
		progress: func(a *gen.Avatar) *float64 { return a.Progress },
		bare:     func(status string) *gen.Avatar { return &gen.Avatar{AvatarID: id, Status: gen.AvatarStatus(status)} },
	})
}

// WaitVideo waits until a video that is made from an avatar is succeeded or failed, and returns it
// whichever it is. It works as [Client.WaitAvatar] does.
func (c *Client) WaitVideo(ctx context.Context, id string, options ...CallOption) (*gen.Video, error) {
	return wait(ctx, c, subject{gen.EventTypeAvatarInference, id}, newCall(c.doer, options), questions[gen.Video]{
		get:      func(ctx context.Context) (*gen.Video, error) { return c.GetVideo(ctx, id, options...) },
		status:   func(v *gen.Video) string { return string(v.Status) },
		progress: func(v *gen.Video) *float64 { return v.Progress },
		bare: func(status string) *gen.Video {
			return &gen.Video{InferenceID: id, Status: gen.InferenceStatus(status)}
		},
	})
}

// WaitLipsync waits until a lip-sync is succeeded or failed, and returns it whichever it is. It
// works as [Client.WaitAvatar] does.
func (c *Client) WaitLipsync(ctx context.Context, id string, options ...CallOption) (*gen.Lipsync, error) {
	return wait(ctx, c, subject{gen.EventTypeLipsyncInference, id}, newCall(c.doer, options), questions[gen.Lipsync]{
		get:      func(ctx context.Context) (*gen.Lipsync, error) { return c.GetLipsync(ctx, id, options...) },
		status:   func(l *gen.Lipsync) string { return string(l.Status) },
		progress: func(l *gen.Lipsync) *float64 { return l.Progress },
		bare: func(status string) *gen.Lipsync {
			return &gen.Lipsync{InferenceID: id, Status: gen.InferenceStatus(status)}
		},
	})
}

// questions are what a wait asks of the service, and of what that answers.
type questions[T any] struct {
	get      func(context.Context) (*T, error)
	status   func(*T) string
	progress func(*T) *float64      // in per cent
	bare     func(status string) *T // what an event alone tells
}

// wait asks until the status is final, or consent_pending if the call says so.
func wait[T any](ctx context.Context, c *Client, about subject, call *call, ask questions[T]) (*T, error) {
	var (
		awaited *end                 // nil without a receiver
		reached <-chan struct{}      // by the event; never without a receiver
		happens <-chan struct{}      // reached, until that is known
		last    error                // a temporary failure
		shown   int64           = -1 // progress
		consent                 = call.untilConsent
	)
	if c.events != nil {
		awaited = c.events.await(about)
		defer c.events.leave(about, awaited)
		reached = awaited.reached(consent)
		happens = reached
	}
	expected := awaited != nil && call.progress == nil // no event has come, and one will
	for bound := c.poll.BaseInterval; ; {
		if closed(happens) {
			happens, expected, bound = nil, false, c.poll.BaseInterval
		}
		got, err := until(ctx, happens, ask.get)
		if err == nil {
			shown = call.reportProgress(ask.progress(got), shown)
		}
		switch {
		case err == nil && (final(ask.status(got)) || consent && awaitsConsent(ask.status(got))):
			return got, nil
		case err == nil:
			last = nil
		case awaited != nil && cannotBeAsked(err):
			select {
			case <-reached:
				return ask.bare(c.events.status(awaited)), nil
			case <-ctx.Done():
				return nil, gaveUp(ctx, last)
			}
		case ctx.Err() != nil:
			return nil, gaveUp(ctx, last)
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
		if expected && last == nil {
			delay = between(c.poll.ReceiverInterval)
		}
		delay = max(delay, retryAfterOf(last))
		timer := time.NewTimer(delay)
		select {
		case <-happens:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, gaveUp(ctx, last)
		}
		timer.Stop()
	}
}

// between returns a random time from half of interval to the whole.
func between(interval time.Duration) time.Duration { return interval/2 + rand.N(interval/2+1) }

// until calls get, whose context ends when the event happens: the answer would be about the time
// before.
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

func gaveUp(ctx context.Context, last error) error {
	if last != nil {
		return fmt.Errorf("client: waiting for the end: %w: %w", ctx.Err(), last)
	}
	return fmt.Errorf("client: waiting for the end: %w", ctx.Err())
}

// final reports whether a status, of whatever subject, is followed by no other one.
func final(status string) bool {
	switch status {
	case string(gen.AvatarStatusPublished), string(gen.AvatarStatusFailed), string(gen.AvatarStatusConsentFailed),
		string(gen.InferenceStatusSucceeded):
		return true
	}
	return false
}

func cannotBeAsked(err error) bool {
	answer, ok := errors.AsType[*Error](err)
	return ok && (answer.StatusCode == http.StatusNotImplemented || answer.StatusCode == http.StatusMethodNotAllowed)
}

func awaitsConsent(status string) bool { return status == string(gen.AvatarStatusConsentPending) }

// temporary reports whether a later question may be answered. Beside the answers of the service,
// these are errors of the network and those that say so themselves, which a [TokenSource] may have.
func temporary(err error) bool {
	if answer, ok := errors.AsType[*Error](err); ok {
		return answer.StatusCode == http.StatusRequestTimeout || errors.Is(answer, ErrRateLimited) ||
			errors.Is(answer, ErrServer) && answer.StatusCode != http.StatusNotImplemented
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
