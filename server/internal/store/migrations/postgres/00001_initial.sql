-- +goose Up
-- Times are microseconds since the Unix epoch.

CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    created_at    BIGINT NOT NULL
);

CREATE TABLE login_tries (
    account  TEXT PRIMARY KEY,
    tries    INTEGER NOT NULL,
    began_at BIGINT NOT NULL
);
CREATE INDEX login_tries_began ON login_tries (began_at);

CREATE TABLE refresh_tokens (
    hash       BYTEA PRIMARY KEY,
    family     TEXT NOT NULL,
    user_id    TEXT NOT NULL REFERENCES users,
    expires_at BIGINT NOT NULL,
    used       INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX refresh_tokens_family ON refresh_tokens (family);
CREATE INDEX refresh_tokens_user ON refresh_tokens (user_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

CREATE TABLE workspaces (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE members (
    workspace_id TEXT NOT NULL REFERENCES workspaces,
    user_id      TEXT NOT NULL REFERENCES users,
    PRIMARY KEY (workspace_id, user_id)
);

-- user_id has no reference: imported projects may belong to users who are not here. The ids are
-- in the order of their bytes, whatever the language of the database, and the documents are text
-- because JSONB would put their members in another order.
CREATE TABLE projects (
    id           TEXT COLLATE "C" PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces,
    user_id      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    published    INTEGER NOT NULL,
    document     TEXT NOT NULL
);
CREATE INDEX projects_newest ON projects (workspace_id, created_at DESC, id DESC);
CREATE INDEX projects_counts ON projects (workspace_id, user_id, published);

-- render_at and deliver_at say when work on the subject is due: to render it, and to deliver
-- the first of its events that has not ended.
CREATE TABLE subjects (
    id             TEXT PRIMARY KEY,
    kind           TEXT NOT NULL,
    user_id        TEXT NOT NULL REFERENCES users,
    avatar_id      TEXT REFERENCES subjects,
    title          TEXT,
    request        TEXT NOT NULL,
    webhook_url    TEXT NOT NULL,
    origin         TEXT COLLATE "C" NOT NULL,
    status         TEXT NOT NULL,
    consent        TEXT NOT NULL,
    failure_reason TEXT NOT NULL,
    video_url      TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    sequence       BIGINT NOT NULL,
    render_at      BIGINT,
    render_tries   INTEGER NOT NULL,
    deliver_at     BIGINT
);
CREATE INDEX subjects_render ON subjects (render_at) WHERE render_at IS NOT NULL;
CREATE INDEX subjects_deliver ON subjects (deliver_at) WHERE deliver_at IS NOT NULL;
CREATE INDEX subjects_origin ON subjects (origin, deliver_at) WHERE deliver_at IS NOT NULL;

CREATE TABLE events (
    id         TEXT PRIMARY KEY,
    subject_id TEXT NOT NULL REFERENCES subjects,
    sequence   BIGINT NOT NULL,
    body       BYTEA NOT NULL,
    state      TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'exhausted')),
    tries      INTEGER NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    ended_at   BIGINT,
    reason     TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX events_order ON events (subject_id, sequence);
CREATE INDEX events_pending ON events (subject_id, sequence) WHERE state = 'pending';
CREATE INDEX events_ended ON events (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX events_created ON events (created_at);
CREATE INDEX events_exhausted ON events (id) WHERE state = 'exhausted';

CREATE TABLE attempts (
    event_id TEXT NOT NULL REFERENCES events ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    at       BIGINT NOT NULL,
    duration BIGINT NOT NULL,
    address  TEXT NOT NULL,
    status   INTEGER NOT NULL,
    failure  TEXT NOT NULL,
    excerpt  BYTEA,
    PRIMARY KEY (event_id, number)
);

-- endpoints are the URLs of users that are switched off.
CREATE TABLE endpoints (
    user_id     TEXT NOT NULL REFERENCES users,
    url         TEXT NOT NULL,
    origin      TEXT NOT NULL,
    disabled_at BIGINT NOT NULL,
    reason      TEXT NOT NULL,
    PRIMARY KEY (user_id, url)
);

CREATE TABLE idempotency_keys (
    user_id     TEXT NOT NULL REFERENCES users,
    key         TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    subject_id  TEXT NOT NULL REFERENCES subjects,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

CREATE TABLE webhook_secrets (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users,
    secret     TEXT NOT NULL,
    expires_at BIGINT
);
CREATE INDEX webhook_secrets_user ON webhook_secrets (user_id);
CREATE INDEX webhook_secrets_expiry ON webhook_secrets (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE signing_keys (
    name TEXT PRIMARY KEY,
    key  BYTEA NOT NULL
);
