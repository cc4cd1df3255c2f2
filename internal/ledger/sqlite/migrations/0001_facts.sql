-- Times are microseconds since 1970, in UTC; 0 means never. Text that is unknown is ''.
-- The end of what has not ended is 9223372036854775807.

-- A branch or tag of a GitOps repository: followed by clusters, or recorded, or both.
-- kind and environment are '' until a commit of it is recorded.
CREATE TABLE branch (
    id          INTEGER PRIMARY KEY,
    repository  TEXT    NOT NULL,
    ref         TEXT    NOT NULL,
    kind        TEXT    NOT NULL DEFAULT '',
    environment TEXT    NOT NULL DEFAULT '',
    -- The number of the commit that is its head; 0 means none.
    head        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (repository, ref)
) STRICT;
CREATE INDEX branch_environment ON branch (environment);

-- What reconcilers follow.
CREATE TABLE source (
    id        INTEGER PRIMARY KEY,
    branch_id INTEGER NOT NULL REFERENCES branch (id),
    path      TEXT    NOT NULL,
    UNIQUE (branch_id, path)
) STRICT;

CREATE TABLE cluster (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE
) STRICT;

-- Apart from the facts, since it changes all the time.
CREATE TABLE heartbeat (
    cluster_id INTEGER PRIMARY KEY REFERENCES cluster (id),
    heard      INTEGER NOT NULL
) STRICT;

CREATE TABLE registration (
    id              INTEGER PRIMARY KEY,
    cluster_id      INTEGER NOT NULL REFERENCES cluster (id),
    at              INTEGER NOT NULL,
    -- When the next one replaced it.
    until           INTEGER NOT NULL,
    labels          TEXT    NOT NULL, -- a JSON object
    credential_hash TEXT    NOT NULL,
    revoked         INTEGER NOT NULL,
    by_whom         TEXT    NOT NULL,
    UNIQUE (cluster_id, at)
) STRICT;
CREATE INDEX registration_credential ON registration (credential_hash) WHERE credential_hash <> '';

CREATE TABLE membership (
    registration_id INTEGER NOT NULL REFERENCES registration (id),
    environment     TEXT    NOT NULL,
    cluster_type    TEXT    NOT NULL,
    PRIMARY KEY (registration_id, environment, cluster_type)
) STRICT, WITHOUT ROWID;
CREATE INDEX membership_environment ON membership (environment, cluster_type);

CREATE TABLE reconciler (
    id         INTEGER PRIMARY KEY,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id),
    kind       TEXT    NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    UNIQUE (cluster_id, kind, namespace, name)
) STRICT;

-- What observations say; thousands of clusters share one.
-- The id is the severity of the state times 2^60, plus 60 bits of a hash of the rest: the greater one is less favourable.
CREATE TABLE outcome (
    id             INTEGER PRIMARY KEY,
    source_id      INTEGER NOT NULL REFERENCES source (id),
    revision       TEXT    NOT NULL,
    state          INTEGER NOT NULL, -- 1 ready, 2 progressing, 3 suspended, 4 failed
    message        TEXT    NOT NULL,
    -- The first observation of it on any cluster.
    first_observed INTEGER NOT NULL,
    -- How many reconcilers are there now.
    reconcilers    INTEGER NOT NULL
) STRICT;
CREATE INDEX outcome_source ON outcome (source_id, revision);

-- The facts. An observation that only confirms the one before is none.
CREATE TABLE observation (
    reconciler_id INTEGER NOT NULL,
    observed      INTEGER NOT NULL,
    received      INTEGER NOT NULL,
    outcome_id    INTEGER NOT NULL,
    PRIMARY KEY (reconciler_id, observed)
) STRICT, WITHOUT ROWID;
-- Failures are few, and looked for among all.
CREATE INDEX observation_failed ON observation (reconciler_id, observed) WHERE outcome_id >= 4611686018427387904;

-- The state that follows from the facts: the newest observation, and since when there was no other.
CREATE TABLE reconciler_state (
    reconciler_id INTEGER PRIMARY KEY REFERENCES reconciler (id),
    source_id     INTEGER NOT NULL,
    outcome_id    INTEGER NOT NULL,
    since         INTEGER NOT NULL,
    confirmed     INTEGER NOT NULL,
    received      INTEGER NOT NULL
) STRICT;
CREATE INDEX reconciler_state_source ON reconciler_state (source_id, reconciler_id);

-- Which reconcilers ever followed a source: where to look for what was.
CREATE TABLE follower (
    source_id     INTEGER NOT NULL,
    reconciler_id INTEGER NOT NULL,
    PRIMARY KEY (source_id, reconciler_id)
) STRICT, WITHOUT ROWID;

-- Commits of GitOps branches, numbered as they were recorded.
CREATE TABLE gitops_commit (
    branch_id     INTEGER NOT NULL REFERENCES branch (id),
    number        INTEGER NOT NULL,
    sha           TEXT    NOT NULL,
    source_commit TEXT    NOT NULL,
    committed     INTEGER NOT NULL,
    recorded      INTEGER NOT NULL,
    PRIMARY KEY (branch_id, number),
    UNIQUE (branch_id, sha)
) STRICT, WITHOUT ROWID;

-- What a platform branch wants, from one commit until another.
CREATE TABLE assignment (
    branch_id    INTEGER NOT NULL REFERENCES branch (id),
    opened       INTEGER NOT NULL,
    closed       INTEGER NOT NULL,
    cluster_type TEXT    NOT NULL,
    target       TEXT    NOT NULL,
    workload     TEXT    NOT NULL,
    workspace    TEXT    NOT NULL
) STRICT;
CREATE INDEX assignment_branch ON assignment (branch_id, closed);

-- The versions in the folders of an application branch, from one commit until another.
CREATE TABLE version (
    branch_id   INTEGER NOT NULL REFERENCES branch (id),
    opened      INTEGER NOT NULL,
    closed      INTEGER NOT NULL,
    workload    TEXT    NOT NULL,
    workspace   TEXT    NOT NULL,
    target      TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    version     TEXT    NOT NULL,
    build       TEXT    NOT NULL,
    commit_sha  TEXT    NOT NULL, -- of the source repository
    built       INTEGER NOT NULL
) STRICT;
CREATE INDEX version_path ON version (branch_id, path, closed);
CREATE INDEX version_workload ON version (workload);

CREATE TABLE promotion (
    id          INTEGER PRIMARY KEY,
    subject     TEXT    NOT NULL,
    commit_sha  TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    UNIQUE (subject, commit_sha, environment)
) STRICT;

CREATE TABLE promotion_step (
    id           INTEGER PRIMARY KEY,
    promotion_id INTEGER NOT NULL REFERENCES promotion (id),
    at           INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    by_whom      TEXT    NOT NULL,
    detail       TEXT    NOT NULL, -- JSON, or ''
    UNIQUE (promotion_id, at, kind)
) STRICT;
CREATE INDEX promotion_step_at ON promotion_step (at);

CREATE TABLE change_event (
    id         INTEGER PRIMARY KEY,
    repository TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    branch     TEXT    NOT NULL,
    commit_sha TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    by_whom    TEXT    NOT NULL,
    UNIQUE (repository, number, at, kind)
) STRICT;
CREATE INDEX change_event_at ON change_event (at);

-- The id is a hash of the rest, so that an entry is stored once.
CREATE TABLE audit (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    by_whom TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    detail  TEXT    NOT NULL,
    address TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_at ON audit (at);

CREATE TABLE token (
    id          TEXT    PRIMARY KEY,
    hash        TEXT    NOT NULL UNIQUE,
    role        TEXT    NOT NULL,
    scope       TEXT    NOT NULL,
    description TEXT    NOT NULL,
    by_whom     TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    revoked     INTEGER NOT NULL
) STRICT;
