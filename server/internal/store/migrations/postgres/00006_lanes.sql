-- +goose Up
-- A line is what one user has due for one origin.
CREATE INDEX subjects_line ON subjects (user_id, origin, deliver_at) WHERE deliver_at IS NOT NULL;
DROP INDEX subjects_origin;
DROP INDEX subjects_deliver;

-- holders are the processes that deliver. One that was not seen for a while is deleted by another,
-- and its lanes with it: shares of all origins, each of which one process delivers to.
CREATE TABLE holders (
    id      TEXT PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE lanes (
    lane   INTEGER PRIMARY KEY,
    holder TEXT REFERENCES holders ON DELETE SET NULL
);
INSERT INTO lanes (lane) SELECT generate_series(0, 255);

-- breakers are the origins to which nothing is sent until a time, because they fail.
CREATE TABLE breakers (
    origin TEXT COLLATE "C" PRIMARY KEY,
    until  BIGINT NOT NULL,
    pause  BIGINT NOT NULL
);

-- River hands out renderings alone.
-- +goose StatementBegin
DO $$ BEGIN
    IF to_regclass('river_job') IS NOT NULL THEN
        DELETE FROM river_job WHERE kind = 'deliver';
    END IF;
END $$;
-- +goose StatementEnd
