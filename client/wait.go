package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	firstPoll   = 500 * time.Millisecond
	slowestPoll = 10 * time.Second
	safetyPoll  = 30 * time.Second
)

// WaitAvatar waits until an avatar is published, failed or consent_failed, and returns it whichever
// it is. An avatar that is consent_pending is waited for; see [Client.SubmitConsent].
//
// With [Config].Receiver it waits for the event, also one that has come already, and asks the
// service for the avatar then and, to be safe, about every 30 seconds. Without one it asks again and
// again, after half a second at first and ten seconds in the end. A service that cannot be asked
// (405 or 501) is no error with a Receiver: the avatar has its id and the status of the event then,
// and nothing else.
//
// What may pass, such as [ErrServer], [ErrRateLimited] or no answer, ends the wait only when ctx
// does; the error is then that of ctx beside the last failure. Any other error ends it at once.
func (c *Client) WaitAvatar(ctx context.Context, id string, options ...CallOption) (*gen.Avatar, error) {
	return wait(ctx, c.events, subject{gen.EventTypeAvatarEvent, id},
		func(ctx context.Context) (*gen.Avatar, error) { return c.GetAvatar(ctx, id, options...) },
		func(a *gen.Avatar) string { return string(a.Status) },
		func(status string) *gen.Avatar { return &gen.Avatar{AvatarID: id, Status: gen.AvatarStatus(status)} })
}

// WaitVideo waits until a video that is made from an avatar is succeeded or failed, and returns it
// whichever it is. It works as [Client.WaitAvatar] does.
func (c *Client) WaitVideo(ctx context.Context, id string, options ...CallOption) (*gen.Video, error) {
	return wait(ctx, c.events, subject{gen.EventTypeAvatarInferenceEvent, id},
		func(ctx context.Context) (*gen.Video, error) { return c.GetVideo(ctx, id, options...) },
		func(v *gen.Video) string { return string(v.Status) },
		func(status string) *gen.Video {
			return &gen.Video{InferenceID: id, Status: gen.InferenceStatus(status)}
		})
}

// WaitLipsync waits until a lip-sync is succeeded or failed, and returns it whichever it is. It
// works as [Client.WaitAvatar] does.
func (c *Client) WaitLipsync(ctx context.Context, id string, options ...CallOption) (*gen.Lipsync, error) {
	return wait(ctx, c.events, subject{gen.EventTypeLipsyncInferenceEvent, id},
		func(ctx context.Context) (*gen.Lipsync, error) { return c.GetLipsync(ctx, id, options...) },
		func(l *gen.Lipsync) string { return string(l.Status) },
		func(status string) *gen.Lipsync {
			return &gen.Lipsync{InferenceID: id, Status: gen.InferenceStatus(status)}
		})
}

// wait asks with get until the status is final. bare makes what an event alone tells.
func wait[T any](ctx context.Context, events *events, about subject,
	get func(context.Context) (*T, error), status func(*T) string, bare func(status string) *T,
) (*T, error) {
	var (
		happens <-chan struct{} // never, without a receiver
		awaited *end
		last    error // a failure that may pass
	)
	if events != nil {
		awaited = events.await(about)
		defer events.leave(about, awaited)
		happens = awaited.done
	}
	expected := awaited != nil // no event has come, and one will
	for bound := firstPoll; ; {
		if closed(happens) {
			happens, expected, bound = nil, false, firstPoll
		}
		got, err := until(ctx, happens, get)
		switch {
		case err == nil && final(status(got)):
			return got, nil
		case err == nil:
			last = nil
		case awaited != nil && cannotBeAsked(err):
			select {
			case <-awaited.done:
				return bare(awaited.status), nil
			case <-ctx.Done():
				return nil, gaveUp(ctx, last)
			}
		case ctx.Err() != nil:
			return nil, gaveUp(ctx, last)
		case closed(happens):
			continue
		case !mayPass(err):
			return nil, err
		default:
			last = err
		}
		delay := bound/2 + rand.N(bound/2+1)
		bound = min(2*bound, slowestPoll)
		if expected && last == nil {
			delay = safetyPoll/2 + rand.N(safetyPoll/2+1)
		}
		if answer, ok := errors.AsType[*Error](last); ok {
			delay = max(delay, answer.RetryAfter)
		}
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

func mayPass(err error) bool {
	if answer, ok := errors.AsType[*Error](err); ok {
		return answer.StatusCode == http.StatusRequestTimeout || errors.Is(answer, ErrRateLimited) ||
			errors.Is(answer, ErrServer) && answer.StatusCode != http.StatusNotImplemented
	}
	_, ok := errors.AsType[*url.Error](err)
	return ok
}
