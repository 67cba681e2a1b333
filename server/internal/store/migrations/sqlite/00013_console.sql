-- +goose Up
-- role is what a user may do beside what every user may; '' is nothing more.
ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT '';
CREATE INDEX members_user ON members (user_id, workspace_id);
