-- +goose Up
-- render_by renders the subject until render_until. The greater a user's render_turn, the later a rendering of theirs has begun.
ALTER TABLE subjects ADD COLUMN render_by TEXT;
ALTER TABLE subjects ADD COLUMN render_until INTEGER;
ALTER TABLE users ADD COLUMN render_turn INTEGER NOT NULL DEFAULT 0;
CREATE INDEX subjects_render_user ON subjects (user_id, render_at) WHERE render_at IS NOT NULL;
CREATE INDEX subjects_render_by ON subjects (user_id) WHERE render_by IS NOT NULL;
CREATE INDEX users_render_turn ON users (render_turn);
