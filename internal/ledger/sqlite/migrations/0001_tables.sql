-- Times are microseconds since 1970 in UTC; 0 means never, and 9223372036854775807 is the end of what has not ended.
-- Unknown text is ''.

-- A branch or tag of a GitOps repository that clusters follow, or whose commits are recorded.
-- kind and environment are '' until a commit is recorded. environment stays '' if several environments share the branch.
CREATE TABLE branch (
    id          INTEGER PRIMARY KEY,
    repository  TEXT    NOT NULL,
    ref         TEXT    NOT NULL,
    kind        TEXT    NOT NULL DEFAULT '',
    environment TEXT    NOT NULL DEFAULT '',
    head        INTEGER NOT NULL DEFAULT 0, -- number of a commit; 0 means none
    UNIQUE (repository, ref)
) STRICT;
CREATE INDEX branch_environment ON branch (environment);

-- What a reconciler follows.
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

-- When a cluster last reported. Its own table, because it changes with every report.
CREATE TABLE heartbeat (
    cluster_id INTEGER PRIMARY KEY REFERENCES cluster (id),
    heard      INTEGER NOT NULL
) STRICT;

CREATE TABLE registration (
    id              INTEGER PRIMARY KEY,
    cluster_id      INTEGER NOT NULL REFERENCES cluster (id),
    at              INTEGER NOT NULL,
    until           INTEGER NOT NULL, -- when the next registration replaced it
    labels          TEXT    NOT NULL, -- a JSON object
    credential_hash TEXT    NOT NULL,
    public_key      TEXT    NOT NULL, -- verifies report files that are carried by hand: PKIX as PEM, or ''
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

-- How far a cluster's clock is off, from a time on. Clocks that were always right have no rows.
CREATE TABLE clock (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id),
    noted      INTEGER NOT NULL, -- when it was found out
    from_time  INTEGER NOT NULL, -- by the clock of the cluster
    correction INTEGER NOT NULL, -- microseconds to add to a time of the cluster
    PRIMARY KEY (cluster_id, noted)
) STRICT, WITHOUT ROWID;

CREATE TABLE reconciler (
    id         INTEGER PRIMARY KEY,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id),
    kind       TEXT    NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    UNIQUE (cluster_id, kind, namespace, name)
) STRICT;

-- What observations say. Thousands of clusters share a row.
-- The id is the severity of the state times 2^60, plus 60 bits of a hash of the rest: a greater id is less favourable.
CREATE TABLE outcome (
    id             INTEGER PRIMARY KEY,
    source_id      INTEGER NOT NULL REFERENCES source (id),
    revision       TEXT    NOT NULL,
    state          INTEGER NOT NULL, -- 1 ready, 2 progressing, 3 suspended, 4 failed
    message        TEXT    NOT NULL,
    applied        TEXT    NOT NULL, -- the revision that was applied last; empty if the state says it
    health         INTEGER NOT NULL, -- 1 healthy, 2 unknown, 3 progressing, 4 degraded
    unhealthy      TEXT    NOT NULL, -- JSON, a list of objects; empty if none is known
    first_observed INTEGER NOT NULL, -- on any cluster
    reconcilers    INTEGER NOT NULL  -- how many are at it now
) STRICT;
CREATE INDEX outcome_source ON outcome (source_id, revision);

-- The facts, without observations that only confirm the one before.
CREATE TABLE observation (
    reconciler_id INTEGER NOT NULL,
    observed      INTEGER NOT NULL,
    received      INTEGER NOT NULL,
    outcome_id    INTEGER NOT NULL,
    PRIMARY KEY (reconciler_id, observed)
) STRICT, WITHOUT ROWID;
-- Failures are rare, and queries search all observations for them.
CREATE INDEX observation_failed ON observation (reconciler_id, observed) WHERE outcome_id >= 4611686018427387904;

-- The state that follows from the facts: the newest observation, and since when the outcome has been the same.
CREATE TABLE reconciler_state (
    reconciler_id INTEGER PRIMARY KEY REFERENCES reconciler (id),
    source_id     INTEGER NOT NULL,
    outcome_id    INTEGER NOT NULL,
    since         INTEGER NOT NULL,
    confirmed     INTEGER NOT NULL,
    received      INTEGER NOT NULL
) STRICT;
CREATE INDEX reconciler_state_source ON reconciler_state (source_id, reconciler_id);
-- Few reconcilers are not ready. Their outcomes have ids from 2 * 2^60 on.
CREATE INDEX reconciler_state_unready ON reconciler_state (source_id, outcome_id) WHERE outcome_id >= 2305843009213693952;

-- Which reconcilers have ever followed a source; queries about the past start here.
CREATE TABLE follower (
    source_id     INTEGER NOT NULL,
    reconciler_id INTEGER NOT NULL,
    PRIMARY KEY (source_id, reconciler_id)
) STRICT, WITHOUT ROWID;

-- Commits of GitOps branches, numbered in the order in which they were recorded.
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

-- Assignments of a platform branch, from the commit numbered opened until the one numbered closed.
-- environment is set if the branch is shared by several environments.
CREATE TABLE assignment (
    branch_id    INTEGER NOT NULL REFERENCES branch (id),
    opened       INTEGER NOT NULL,
    closed       INTEGER NOT NULL,
    cluster_type TEXT    NOT NULL,
    target       TEXT    NOT NULL,
    workload     TEXT    NOT NULL,
    workspace    TEXT    NOT NULL,
    environment  TEXT    NOT NULL
) STRICT;
CREATE INDEX assignment_branch ON assignment (branch_id, closed);
CREATE INDEX assignment_environment ON assignment (environment) WHERE environment <> '';

-- Versions in the folders of an application branch, from the commit numbered opened until the one numbered closed.
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
CREATE INDEX version_environment ON version (environment);

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
    detail       TEXT    NOT NULL, -- a JSON object
    UNIQUE (promotion_id, at, kind)
) STRICT;
CREATE INDEX promotion_step_at ON promotion_step (at);

-- What happened to pull requests.
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

-- Sessions that were signed out before they expired. All servers of a ledger reject them.
CREATE TABLE ended_session (
    name  TEXT    PRIMARY KEY, -- a hash
    until INTEGER NOT NULL     -- when it would have expired
) STRICT, WITHOUT ROWID;
