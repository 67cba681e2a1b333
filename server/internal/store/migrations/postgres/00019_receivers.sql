-- +goose Up
-- The newest subjects with a webhook_url are found by id, which is ordered by time.
CREATE INDEX subjects_receiver ON subjects (user_id, webhook_url, id) WHERE webhook_url <> '';
DROP INDEX subjects_webhook;
