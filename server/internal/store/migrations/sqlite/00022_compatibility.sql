-- +goose Up
-- version is that of the newest migration. A program whose newest migration is oldest or later can use the tables.
-- Each migration sets both.
CREATE TABLE compatibility (
    version INTEGER NOT NULL,
    oldest  INTEGER NOT NULL
) STRICT;
INSERT INTO compatibility (version, oldest) VALUES (22, 21);
