-- +goose Up
-- Times are microseconds since the Unix epoch, and durations are microseconds.

-- compatibility has one row, which every migration updates.
CREATE TABLE compatibility (
    version BIGINT NOT NULL, -- of the newest migration
    oldest  BIGINT NOT NULL  -- a program whose newest migration is this one or a later one can use the tables
);
INSERT INTO compatibility (version, oldest) VALUES (1, 1);

-- installation has one row.
CREATE TABLE installation (
    id         TEXT NOT NULL,             -- a random UUID, by which projects name this installation
    checked_at BIGINT NOT NULL DEFAULT 0 -- when a daemon last checked that the database accepts writes
);
INSERT INTO installation (id) VALUES (gen_random_uuid());

CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE,     -- normalized; of a deleted user, 'deleted ' and the id
    password_hash TEXT NOT NULL,            -- of Argon2id
    role          TEXT NOT NULL DEFAULT '', -- what the user may do beyond what every user may; '' is nothing
    created_at    BIGINT NOT NULL,
    disabled_at   BIGINT,                   -- NULL if the user can log in
    deleted_at    BIGINT                    -- the row stays, because subjects refer to it
);
CREATE INDEX users_operators ON users (id) WHERE role = 'operator';

-- login_tries are the recent events that a limit counts, such as failed logins.
CREATE TABLE login_tries (
    account  TEXT PRIMARY KEY, -- what the limit is for
    tries    INTEGER NOT NULL,
    began_at BIGINT NOT NULL
);
CREATE INDEX login_tries_began ON login_tries (began_at);

-- known_addresses are those from which a user has logged in. Failed logins from other addresses do not delay logins
-- from these.
CREATE TABLE known_addresses (
    user_id TEXT NOT NULL REFERENCES users,
    address TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, address)
);
CREATE INDEX known_addresses_seen ON known_addresses (seen_at);

CREATE TABLE refresh_tokens (
    hash       BYTEA PRIMARY KEY,
    family     TEXT NOT NULL,             -- the session: the first token and those that replaced it
    user_id    TEXT NOT NULL REFERENCES users,
    expires_at BIGINT NOT NULL,
    used       INTEGER NOT NULL DEFAULT 0 -- 1 if another token has replaced it
);
CREATE INDEX refresh_tokens_family ON refresh_tokens (family);
CREATE INDEX refresh_tokens_user ON refresh_tokens (user_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);
CREATE INDEX refresh_tokens_sessions ON refresh_tokens (user_id, expires_at) WHERE used = 0;

-- api_keys let programs act as a user.
CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL REFERENCES users,
    name         TEXT NOT NULL,
    hash         BYTEA NOT NULL UNIQUE, -- of the key
    read_only    INTEGER NOT NULL,     -- 1 or 0
    workspace_id TEXT NOT NULL,        -- the only one in which it is valid; '' for all
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,               -- NULL if it does not expire
    used_at      BIGINT                -- in minutes; NULL if it was never used
);
CREATE INDEX api_keys_user ON api_keys (user_id);

-- acts are what operators did.
CREATE TABLE acts (
    id      TEXT PRIMARY KEY,
    at      BIGINT NOT NULL,
    done_by TEXT NOT NULL, -- the email of the operator
    action  TEXT NOT NULL,
    target  TEXT NOT NULL
);
CREATE INDEX acts_at ON acts (at);

-- revocations are the sessions that have ended, whose access tokens are refused.
CREATE TABLE revocations (
    id         TEXT PRIMARY KEY, -- of the session
    revoked_at BIGINT NOT NULL
);
CREATE INDEX revocations_at ON revocations (revoked_at);

CREATE TABLE workspaces (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- links let their holders do one thing once, without a password.
CREATE TABLE links (
    hash          BYTEA PRIMARY KEY,
    purpose       TEXT NOT NULL,
    email         TEXT NOT NULL, -- of the user; '' for the first operator
    workspace_id  TEXT REFERENCES workspaces (id), -- of an invited user; NULL for none
    operator      INTEGER NOT NULL, -- 1 if an invited user becomes an operator, or 0
    made_by       TEXT NOT NULL, -- id of the operator; '' for the daemon
    expires_at    BIGINT NOT NULL,
    claimed_until BIGINT -- while the password of a use is hashed; NULL before the first use
);
CREATE INDEX links_email ON links (email, purpose);
CREATE INDEX links_operator ON links (made_by);
CREATE INDEX links_expiry ON links (expires_at);

CREATE TABLE members (
    workspace_id TEXT NOT NULL REFERENCES workspaces,
    user_id      TEXT NOT NULL REFERENCES users,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX members_user ON members (user_id, workspace_id);

CREATE TABLE projects (
    id           TEXT COLLATE "C" PRIMARY KEY, -- in the order of bytes, whatever the language of the database
    workspace_id TEXT NOT NULL REFERENCES workspaces,
    user_id      TEXT NOT NULL,                -- without a reference, because the owner may be unknown here
    created_at   BIGINT NOT NULL,
    published    INTEGER NOT NULL,             -- 1 or 0
    document     TEXT NOT NULL                 -- JSON, with its members in their order
);
CREATE INDEX projects_newest ON projects (workspace_id, created_at DESC, id DESC);

-- uploads are files that users have sent. The content is in the media.
CREATE TABLE uploads (
    id           TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL REFERENCES users,
    key          TEXT NOT NULL,   -- in the media
    content_type TEXT NOT NULL,
    size         BIGINT NOT NULL, -- in bytes
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
);
CREATE INDEX uploads_expiry ON uploads (expires_at);
CREATE INDEX uploads_user ON uploads (user_id, expires_at, size);

-- subjects are avatars, videos and lip-syncs.
CREATE TABLE subjects (
    id             TEXT PRIMARY KEY,
    kind           TEXT NOT NULL,
    user_id        TEXT NOT NULL REFERENCES users,
    avatar_id      TEXT REFERENCES subjects,   -- of a video
    title          TEXT,
    workspace_id   TEXT,                       -- of the project that it is; without a reference, because its check is slow
    project        TEXT NOT NULL DEFAULT '{}', -- what its owner has added to this project: JSON
    request        TEXT NOT NULL,              -- the JSON that created it
    request_id     TEXT NOT NULL DEFAULT '',   -- of the request that created it, for the log
    trace_parent   TEXT NOT NULL DEFAULT '',   -- the span of that request; '' if it is not traced
    webhook_url    TEXT NOT NULL,              -- '' for none
    origin         TEXT COLLATE "C" NOT NULL,  -- the scheme, host and port of webhook_url
    status         TEXT NOT NULL,
    consent        TEXT NOT NULL,              -- of an avatar
    failure_reason TEXT NOT NULL,
    progress       INTEGER NOT NULL DEFAULT 0, -- of the rendering, in percent
    stage          TEXT NOT NULL DEFAULT '',   -- what the rendering does; '' if unknown
    ready_at       BIGINT,                     -- estimated end of the rendering
    rendering      TEXT NOT NULL DEFAULT '{}', -- its result: JSON with names of files in the media, and checks
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    deleted_at     BIGINT,                     -- the row stays for a while, without its content
    sequence       BIGINT NOT NULL,            -- of its last event
    render_tries   INTEGER NOT NULL,           -- failed attempts
    key_hash       BYTEA,                      -- of the user and the idempotency key that created it
    fingerprint    BYTEA                       -- of the request with that key
);
CREATE INDEX subjects_newest ON subjects (user_id, kind, created_at DESC, id DESC, status) WHERE deleted_at IS NULL;
CREATE INDEX subjects_videos ON subjects (avatar_id, created_at DESC, id DESC, status) WHERE avatar_id IS NOT NULL;
CREATE INDEX subjects_projects ON subjects (workspace_id, created_at DESC, id COLLATE "C" DESC) WHERE workspace_id IS NOT NULL AND deleted_at IS NULL;
CREATE UNIQUE INDEX subjects_key ON subjects (key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX subjects_deleted ON subjects (deleted_at, id) WHERE deleted_at IS NOT NULL;

-- upload_uses are the uploads that are inputs of subjects, by their ids.
CREATE TABLE upload_uses (
    subject_id TEXT NOT NULL, -- without a reference, like upload_id, because the upload may not exist
    upload_id  TEXT NOT NULL,
    PRIMARY KEY (subject_id, upload_id)
);
CREATE INDEX upload_uses_upload ON upload_uses (upload_id);

-- renderings is the queue of renderings: the subjects that are to be rendered.
CREATE TABLE renderings (
    subject_id   TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL,   -- of the subject
    due_at       BIGINT NOT NULL,
    process_id   TEXT,            -- the process that renders it
    leased_until BIGINT           -- when the lease of that process ends, by the clock of the database
);
CREATE INDEX renderings_due ON renderings (due_at);
CREATE INDEX renderings_user ON renderings (user_id, due_at);
CREATE INDEX renderings_running ON renderings (user_id) WHERE process_id IS NOT NULL;

CREATE TABLE events (
    id            TEXT PRIMARY KEY,
    subject_id    TEXT NOT NULL,              -- without a reference, because its check is slow; the transaction has the subject locked
    user_id       TEXT NOT NULL,              -- of the subject, like kind
    kind          TEXT NOT NULL,
    sequence      BIGINT NOT NULL,            -- 1, 2, 3 … for each subject
    body          BYTEA NOT NULL,             -- what is sent
    state         TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'exhausted', 'none')),
    reason        TEXT NOT NULL DEFAULT '',   -- why it is exhausted
    tries         INTEGER NOT NULL DEFAULT 0, -- attempts since its creation or its last replay
    created_at    BIGINT NOT NULL,            -- and its position in the events of the user: see event_clocks
    ended_at      BIGINT,                     -- NULL while it is pending
    -- The last attempt; earlier ones are in attempts. So most events have no row there.
    last_number   INTEGER NOT NULL DEFAULT 0, -- 1, 2, 3 … for each event; 0 if there is none
    last_at       BIGINT,
    last_duration BIGINT,
    last_address  TEXT,    -- '' if none was reached
    last_status   INTEGER, -- 0 if there was no response
    last_failure  TEXT,    -- '' if the event was delivered
    last_excerpt  BYTEA    -- the start of the response
) WITH (fillfactor = 70);
-- No index has a column that a delivery changes, so that the new version of a row can stay on its page.
CREATE UNIQUE INDEX events_order ON events (subject_id, sequence);
CREATE INDEX events_created ON events (created_at);
CREATE INDEX events_user ON events (user_id, created_at, kind);
CREATE INDEX events_exhausted ON events (created_at, id) WHERE reason <> '';
CREATE INDEX events_user_exhausted ON events (user_id, created_at, kind) WHERE reason <> '';

-- event_clocks make created_at increase with each event of a user, in the order of commits. A transaction with new
-- events takes their times from the row, and keeps it locked until its commit. So a reader that continues after an
-- event misses none.
CREATE TABLE event_clocks (
    user_id       TEXT PRIMARY KEY,
    last_at       BIGINT NOT NULL,          -- created_at of the last event
    video_seconds BIGINT NOT NULL DEFAULT 0 -- of the videos of the user that succeeded, each rounded up
) WITH (fillfactor = 50);

-- deliveries is the queue of deliveries: the subjects that have pending events, each with its first one.
CREATE TABLE deliveries (
    subject_id   TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL,             -- of the subject, like origin, url, request_id and trace_parent
    origin       TEXT COLLATE "C" NOT NULL,
    url          TEXT NOT NULL,
    sequence     BIGINT NOT NULL,           -- of the event
    due_at       BIGINT NOT NULL,           -- of its next attempt
    request_id   TEXT NOT NULL DEFAULT '',
    trace_parent TEXT NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_flow ON deliveries (user_id, origin, due_at);

-- attempts are the attempts for events before the last ones.
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

-- replays are requests to send events again. Their events become pending in batches.
CREATE TABLE replays (
    id           TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL,               -- '' for the events of every user
    selection    TEXT NOT NULL,               -- JSON
    events       BIGINT NOT NULL,             -- how many were selected
    requested_at BIGINT NOT NULL,
    after_at     BIGINT NOT NULL DEFAULT 0,   -- the position of the last event that was replayed, with after_id
    after_id     TEXT NOT NULL DEFAULT '',
    turn_at      BIGINT,                      -- when the next batch is due; NULL after the last one
    key_hash     BYTEA,                       -- of the user and the idempotency key of the request
    fingerprint  BYTEA                        -- of the request with that key
);
CREATE INDEX replays_turn ON replays (turn_at) WHERE turn_at IS NOT NULL;
CREATE INDEX replays_user ON replays (user_id, id) WHERE turn_at IS NOT NULL;
CREATE INDEX replays_owner ON replays (user_id);
CREATE INDEX replays_requested ON replays (requested_at);
CREATE UNIQUE INDEX replays_key ON replays (key_hash) WHERE key_hash IS NOT NULL;

-- endpoints are the webhook URLs of users, as the process that delivers to them last saw them.
CREATE TABLE endpoints (
    user_id         TEXT NOT NULL REFERENCES users,
    url             TEXT NOT NULL,
    origin          TEXT COLLATE "C" NOT NULL, -- of url
    subject_id      TEXT NOT NULL, -- the first subject with the URL, without a reference, because it may be deleted
    used_at         BIGINT  NOT NULL, -- when that was created, or of an attempt, to a day
    disabled_at     BIGINT , -- NULL if it is enabled
    reason          TEXT NOT NULL DEFAULT '', -- why it is disabled
    failing_since   BIGINT , -- the first failure after the last success; NULL unless the last attempt failed
    last_success_at BIGINT ,
    -- The last attempt, as in events.
    last_number     INTEGER NOT NULL DEFAULT 0,
    last_at         BIGINT ,
    last_duration   BIGINT ,
    last_address    TEXT,
    last_status     INTEGER,
    last_failure    TEXT,
    PRIMARY KEY (user_id, url)
) WITH (fillfactor = 50);
CREATE INDEX endpoints_subject ON endpoints (subject_id);
CREATE INDEX endpoints_used ON endpoints (used_at) WHERE disabled_at IS NULL;
CREATE INDEX endpoints_disabled ON endpoints (user_id, url) WHERE disabled_at IS NOT NULL;
CREATE INDEX endpoints_failing ON endpoints (user_id, url) WHERE failing_since IS NOT NULL;

-- alerts are the last mails to users about webhook URLs that fail or are disabled.
CREATE TABLE alerts (
    user_id TEXT NOT NULL REFERENCES users,
    url     TEXT NOT NULL,
    sent_at BIGINT NOT NULL, -- 0 if it could not be sent
    retry_at BIGINT NOT NULL DEFAULT 0, -- when it is due again
    PRIMARY KEY (user_id, url)
);
CREATE INDEX alerts_sent ON alerts (sent_at);

-- pauses stop the deliveries of a user to a URL. '' is every user, and every URL.
CREATE TABLE pauses (
    user_id   TEXT NOT NULL,
    url       TEXT NOT NULL,
    by_user   BOOLEAN NOT NULL, -- false if an operator has paused all
    paused_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, url, by_user)
);

-- breakers are the origins to which nothing is sent for now, because they fail.
CREATE TABLE breakers (
    origin TEXT COLLATE "C" PRIMARY KEY,
    until  BIGINT NOT NULL,
    pause  BIGINT NOT NULL -- how long it is open; it grows with each failure
);

-- holders are the processes that deliver. Another process deletes one that was not seen for a while.
CREATE TABLE holders (
    id      TEXT PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL,
    leaving BOOLEAN NOT NULL -- it finishes its attempts, and takes no lanes
) WITH (fillfactor = 50);

-- lanes are shards of the origins. One process delivers to each of them.
CREATE TABLE lanes (
    lane   INTEGER PRIMARY KEY,
    holder TEXT REFERENCES holders ON DELETE SET NULL
);
INSERT INTO lanes (lane) SELECT generate_series(0, 255);

-- daemons are the processes of studiod that serve or render, until they end.
CREATE TABLE daemons (
    id         TEXT PRIMARY KEY, -- as in process_id of renderings
    host       TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);

-- webhook_secrets sign the webhooks of a user.
CREATE TABLE webhook_secrets (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the newest secret has the greatest
    user_id    TEXT NOT NULL REFERENCES users,
    secret     TEXT NOT NULL,
    expires_at BIGINT                                           -- NULL for the current one
);
CREATE INDEX webhook_secrets_user ON webhook_secrets (user_id);
CREATE INDEX webhook_secrets_expiry ON webhook_secrets (expires_at) WHERE expires_at IS NOT NULL;

-- places have files of this installation, so a directory that is empty may be that of a disk that is not mounted.
CREATE TABLE places (
    name TEXT PRIMARY KEY
);

-- tasks are work on many rows that is done in batches and not finished. Any process may do the next batch.
CREATE TABLE tasks (
    id       TEXT PRIMARY KEY,           -- of the user or avatar that is erased; of another kind random
    kind     TEXT NOT NULL,              -- 'user' and 'avatar' erase rows, 'deliveries' and 'replays' shift their due times
    shift    BIGINT NOT NULL DEFAULT 0, -- by how much
    after_at BIGINT NOT NULL DEFAULT 0, -- the position of the last row that was done, with after_id
    after_id TEXT NOT NULL DEFAULT '',
    due_at   BIGINT NOT NULL            -- when a daemon goes on, because the process that began has ended
);

-- signing_keys are the keys of the service, for access tokens and URLs of files.
CREATE TABLE signing_keys (
    name TEXT PRIMARY KEY,
    key  BYTEA NOT NULL
);
