-- +goose Up
-- Deliveries of a user to a URL are paused. '' is every user, and every URL.
CREATE TABLE pauses (
    user_id   TEXT NOT NULL,
    url       TEXT NOT NULL,
    paused_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, url)
);
UPDATE compatibility SET version = 23, oldest = 22;
