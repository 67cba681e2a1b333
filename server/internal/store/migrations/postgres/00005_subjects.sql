-- +goose Up
-- A deleted subject keeps its id, for those who ask for it again, and nothing of what it was made from.
ALTER TABLE subjects ADD COLUMN deleted_at BIGINT;
CREATE INDEX subjects_deleted ON subjects (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX subjects_newest ON subjects (user_id, kind, created_at DESC, id DESC, status) WHERE deleted_at IS NULL;
CREATE INDEX subjects_videos ON subjects (avatar_id, created_at DESC, id DESC, status) WHERE avatar_id IS NOT NULL;
CREATE INDEX idempotency_keys_subject ON idempotency_keys (subject_id);
