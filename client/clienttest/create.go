package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

const keyLifetime = 24 * time.Hour

// userKey is an idempotency key of a user.
type userKey struct{ userID, key string }

// creation is the first use of an idempotency key.
type creation struct {
	kind    kind
	request string
	created subject // as it was in the first response
}

func (s *studio) CreateAvatar(
	ctx context.Context, request gen.CreateAvatarRequestObject,
) (gen.CreateAvatarResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	url, err := s.registration(request.Body.WebhookData, request.Body.Webhook)
	if err != nil {
		return nil, err
	}
	created, err := s.create(ctx, subject{
		kind: avatar, title: request.Body.Title.Value, avatar: *request.Body, webhookURL: url,
	}, request.Body, request.Params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return gen.CreateAvatar200JSONResponse(created.asAvatar()), nil
}

func (s *studio) CreateVideo(
	ctx context.Context, request gen.CreateVideoRequestObject,
) (gen.CreateVideoResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, err := s.find(ctx, avatar, request.Body.AvatarID)
	if err != nil {
		return nil, err
	}
	if of.status != published {
		return nil, &server.Error{Status: http.StatusConflict, Code: "avatar_not_published", Detail: "The avatar is not published."}
	}
	created, err := s.create(ctx, subject{
		kind: video, avatarID: of.id, avatarTitle: of.title, title: request.Body.Title.Value, video: *request.Body,
		webhookURL: of.webhookURL,
	}, request.Body, request.Params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return gen.CreateVideo200JSONResponse(created.asVideo()), nil
}

func (s *studio) CreateLipsync(
	ctx context.Context, request gen.CreateLipsyncRequestObject,
) (gen.CreateLipsyncResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	url, err := s.registration(request.Body.WebhookData, request.Body.Webhook)
	if err != nil {
		return nil, err
	}
	created, err := s.create(ctx, subject{
		kind: lipsync, title: request.Body.Title.Value, lipsync: *request.Body, webhookURL: url,
	}, request.Body, request.Params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return gen.CreateLipsync200JSONResponse(created.asLipsync()), nil
}

// create creates a subject, or returns the one that the first use of the key created. s.mu must be held.
func (s *studio) create(ctx context.Context, made subject, request any, key *string) (subject, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return subject{}, err
	}
	if strings.ContainsRune(value(made.title), 0) {
		return subject{}, refused("title_invalid", "The title cannot be stored.", gen.Violation{
			Pointer: "/title", Keyword: "text", Detail: "must not contain U+0000",
		})
	}
	made.id, made.userID, made.createdAt = newID(), caller(ctx), now()
	named := userKey{userID: made.userID}
	if key != nil {
		named.key = *key
		earlier, ok := s.keys[named]
		if ok && earlier.created.createdAt.Add(keyLifetime).After(made.createdAt) {
			if earlier.kind != made.kind || earlier.request != string(body) {
				return subject{}, refused("idempotency_key_reused", "The Idempotency-Key was used with another request.", gen.Violation{
					Pointer: "header:Idempotency-Key", Keyword: "idempotency", Detail: "must be new for a new request",
				})
			}
			if s.subjects[earlier.created.id].deleted() {
				return subject{}, &server.Error{Status: http.StatusConflict, Code: "idempotency_key_spent", Detail: "The record of this Idempotency-Key has been deleted."}
			}
			return earlier.created, nil
		}
	}
	kept := &made
	s.subjects[kept.id] = kept
	s.enter(kept, processing)
	kept.updatedAt = kept.createdAt
	created := *kept
	if key != nil {
		s.keys[named] = creation{kind: made.kind, request: string(body), created: created}
	}
	if s.autoFinish {
		s.finish(kept)
	}
	return created, nil
}

// registration returns the webhook URL that a creation registers, or "".
func (s *studio) registration(data gen.Nullable[gen.WebhookData], webhook gen.Nullable[gen.WebhookSwitch]) (url string, err error) {
	if !value(value(webhook.Value).Enabled.Value) {
		return "", nil
	}
	return s.canonical("/webhook_data/webhook_url", value(data.Value).WebhookURL.Value)
}

// canonical returns the canonical form of a webhook URL, or an error if the service would refuse the URL.
func (s *studio) canonical(pointer string, url *string) (string, error) {
	violation := gen.Violation{Pointer: pointer, Keyword: "webhook", Detail: "is required when the webhook is enabled"}
	code := "webhook_url_missing"
	if value(url) != "" {
		canonical, err := s.canonicalURL(*url)
		refusal, ok := errors.AsType[*sender.RefusedError](err)
		if !ok {
			return canonical, nil
		}
		violation.Detail, code = refusal.Reason, "webhook_url_invalid"
		if refusal.NotPublic {
			code = "webhook_url_not_public"
		}
	}
	return "", refused(code, "The webhook cannot be registered.", violation)
}

func refused(code, detail string, violation gen.Violation) error {
	return &server.Error{Status: http.StatusUnprocessableEntity, Code: code, Detail: detail, Violations: []gen.Violation{violation}}
}
