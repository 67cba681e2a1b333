-- +goose Up
-- known_addresses are those that a user has logged in from: failed logins from others do not hold them up.
CREATE TABLE known_addresses (
    user_id TEXT NOT NULL REFERENCES users,
    address TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, address)
);
CREATE INDEX known_addresses_seen ON known_addresses (seen_at);

-- revocations say from when on access tokens of a user are valid. The user may have been deleted.
CREATE TABLE revocations (
    user_id    TEXT PRIMARY KEY,
    revoked_at BIGINT NOT NULL
);
CREATE INDEX revocations_at ON revocations (revoked_at);

-- Of a deleted user the id stays, which rows of what was deleted refer to.
ALTER TABLE users ADD COLUMN deleted_at BIGINT;
CREATE INDEX uploads_user ON uploads (user_id);
