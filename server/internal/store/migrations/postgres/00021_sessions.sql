-- +goose Up
-- The current tokens, one for each session. The used ones of a client that refreshes often are many.
CREATE INDEX refresh_tokens_sessions ON refresh_tokens (user_id, expires_at) WHERE used = 0;
