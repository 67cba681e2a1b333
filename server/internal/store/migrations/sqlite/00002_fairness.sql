-- +goose Up
-- origin is the scheme, host and port of webhook_url, as studio.Origin makes it. Rows from before
-- keep the host as it was written; another spelling of it has limits of its own until they end.

ALTER TABLE subjects ADD COLUMN origin TEXT NOT NULL DEFAULT '';
UPDATE subjects SET origin = lower(substr(webhook_url, 1, instr(webhook_url, '://') + 2 +
    instr(replace(replace(substr(webhook_url, instr(webhook_url, '://') + 3), '?', '/'), '#', '/') || '/', '/') - 1))
WHERE webhook_url <> '';
UPDATE subjects SET origin = substr(origin, 1, length(origin) - 4) WHERE origin LIKE 'https://%:443';
UPDATE subjects SET origin = substr(origin, 1, length(origin) - 3) WHERE origin LIKE 'http://%:80';
CREATE INDEX subjects_origin ON subjects (origin, deliver_at) WHERE deliver_at IS NOT NULL;

-- reason says why an event is exhausted.
ALTER TABLE events ADD COLUMN reason TEXT NOT NULL DEFAULT '';
CREATE INDEX events_created ON events (created_at);
CREATE INDEX events_exhausted ON events (id) WHERE state = 'exhausted';

-- endpoints are the URLs of users that are switched off.
CREATE TABLE endpoints (
    user_id     TEXT NOT NULL REFERENCES users,
    url         TEXT NOT NULL,
    origin      TEXT NOT NULL,
    disabled_at INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    PRIMARY KEY (user_id, url)
) STRICT, WITHOUT ROWID;
