-- +goose Up
-- version is that of the newest migration. A program whose newest migration is oldest or later can use the tables.
-- Each migration sets both.
CREATE TABLE compatibility (
    version BIGINT NOT NULL,
    oldest  BIGINT NOT NULL
);
INSERT INTO compatibility (version, oldest) VALUES (22, 21);
