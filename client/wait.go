package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// The interval between polls doubles with each poll. Each actual interval is random between half of it and all of it.
const (
	firstInterval = 500 * time.Millisecond
	maxInterval   = 5 * time.Second
)

// UntilConsentPending makes [Client.WaitAvatar] also return an avatar that is consent_pending, so that the
// program can ask for consent. Other calls ignore it.
func UntilConsentPending() CallOption { return optionFunc(func(c *call) { c.untilConsent = true }) }

// WaitAvatar waits until an avatar is published, failed or consent_failed, and returns the avatar in that
// state. It keeps waiting while the avatar is consent_pending, unless [UntilConsentPending] is given. See
// [Client.SubmitConsent].
//
// WaitAvatar polls the service at once, and then at intervals that grow from half a second to 5 seconds. Each is
// shortened at random, to no less than its half, and is never shorter than a Retry-After.
//
// WaitAvatar polls again after a temporary failure, such as [ErrServer], [ErrRateLimited], no response (unless the
// certificate of the server is not trusted), or a temporary error of a [TokenSource]. If ctx ends after such a failure,
// the returned error wraps both the error of ctx and the failure. Any other error ends the wait.
func (c *Client) WaitAvatar(ctx context.Context, id string, options ...CallOption) (*gen.Avatar, error) {
	untilConsent := newCall(c, options).untilConsent
	return wait(ctx, c.GetAvatar, id, options, func(a *gen.Avatar) bool {
		return final(string(a.Status)) || untilConsent && a.Status == gen.AvatarStatusConsentPending
	})
}

// WaitVideo waits until a video made from an avatar is succeeded or failed, and returns the video in that
// state. It works like [Client.WaitAvatar].
func (c *Client) WaitVideo(ctx context.Context, id string, options ...CallOption) (*gen.Video, error) {
	return wait(ctx, c.GetVideo, id, options, func(v *gen.Video) bool { return final(string(v.Status)) })
}

// WaitLipsync waits until a lip-sync is succeeded or failed, and returns the lip-sync in that state. It
// works like [Client.WaitAvatar].
func (c *Client) WaitLipsync(ctx context.Context, id string, options ...CallOption) (*gen.Lipsync, error) {
	return wait(ctx, c.GetLipsync, id, options, func(l *gen.Lipsync) bool { return final(string(l.Status)) })
}

// wait gets a record until it is done.
func wait[T any](
	ctx context.Context, get func(context.Context, string, ...CallOption) (*T, error), id string, options []CallOption, done func(*T) bool,
) (*T, error) {
	var last error // temporary failure of the last poll
	for interval := firstInterval; ; interval = min(2*interval, maxInterval) {
		got, err := get(ctx, id, options...)
		switch {
		case err == nil && done(got):
			return got, nil
		case ctx.Err() == nil && err != nil && !temporary(err):
			return nil, err
		case ctx.Err() == nil:
			last = err
			_ = pause(ctx, max(interval/2+rand.N(interval/2), retryAfterOf(err)), nil)
		case last == nil:
			last = err // which may be after attempts that failed
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("client: waiting for the end: %w", ctx.Err())
			if last != nil {
				err = fmt.Errorf("%w: %w", err, last)
			}
			return nil, err
		}
	}
}

// final reports whether no other status follows this one.
func final(status string) bool {
	return slices.Contains([]string{
		string(gen.AvatarStatusPublished), string(gen.AvatarStatusFailed), string(gen.AvatarStatusConsentFailed), string(gen.InferenceStatusSucceeded),
	}, status)
}

// temporary reports whether a later poll may succeed. That is true for transient responses of the service and for any
// net.Error but that of a certificate.
func temporary(err error) bool {
	_, responded := errors.AsType[*Error](err)
	_, failed := errors.AsType[net.Error](err)
	return (responded || failed) && retryable(err, true)
}
