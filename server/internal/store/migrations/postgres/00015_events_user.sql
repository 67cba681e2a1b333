-- +goose Up
-- user_id is that of the subject, so that the events of a user are found without the subjects.
ALTER TABLE events ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
UPDATE events SET user_id = (SELECT user_id FROM subjects WHERE id = events.subject_id);
CREATE INDEX events_user ON events (user_id, state, created_at, id);
CREATE INDEX subjects_webhook ON subjects (user_id, webhook_url) WHERE webhook_url <> '';
