-- +goose Up
-- due_at is when the next attempt of a pending event is due, once the events before it have ended;
-- NULL is from its creation on. subjects.deliver_at is that of the lowest pending event of the
-- subject, and NULL when there is none.
ALTER TABLE events ADD COLUMN due_at BIGINT;
UPDATE events SET due_at = (SELECT deliver_at FROM subjects WHERE id = events.subject_id)
WHERE state = 'pending' AND tries > 0;
