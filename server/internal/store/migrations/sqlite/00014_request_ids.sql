-- +goose Up
-- request_id is that of the request that created the subject, for log lines.
ALTER TABLE subjects ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
