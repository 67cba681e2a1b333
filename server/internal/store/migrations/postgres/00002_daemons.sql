-- +goose Up
-- daemons are those that work on this database, by the names that they have in River.
CREATE TABLE daemons (
    id      TEXT PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL
);
