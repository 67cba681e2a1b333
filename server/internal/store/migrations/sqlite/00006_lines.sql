-- +goose Up
-- A line is what one user has due for one origin.
CREATE INDEX subjects_line ON subjects (user_id, origin, deliver_at) WHERE deliver_at IS NOT NULL;
DROP INDEX subjects_origin;
DROP INDEX subjects_deliver;

-- breakers are the origins to which nothing is sent until a time, because they fail.
CREATE TABLE breakers (
    origin TEXT PRIMARY KEY,
    until  INTEGER NOT NULL,
    pause  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
