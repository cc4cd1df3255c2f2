-- The newest schema, as the migrations make it; a test keeps it so.

CREATE INDEX assignment_branch ON assignment (branch_id, closed);

CREATE INDEX assignment_environment ON assignment (environment) WHERE environment <> '';

CREATE INDEX audit_at ON audit (at);

CREATE INDEX branch_environment ON branch (environment);

CREATE INDEX change_event_at ON change_event (at);

CREATE INDEX membership_environment ON membership (environment, cluster_type);

CREATE INDEX message_at ON message (at);

CREATE INDEX message_due ON message (receiver, due) WHERE state = 'pending';

CREATE INDEX note_at ON note (at);

CREATE INDEX observation_failed ON observation (reconciler_id, observed) WHERE outcome_id >= 4611686018427387904;

CREATE INDEX outcome_source ON outcome (source_id, revision);

CREATE INDEX promotion_step_at ON promotion_step (at);

CREATE INDEX reconciler_state_source ON reconciler_state (source_id, reconciler_id);

CREATE INDEX reconciler_state_unready ON reconciler_state (source_id, outcome_id) WHERE outcome_id >= 2305843009213693952;

CREATE INDEX registration_at ON registration (at DESC, cluster_id);

CREATE INDEX registration_credential ON registration (credential_hash) WHERE credential_hash <> '';

CREATE INDEX silence_to ON silence (to_time);

CREATE INDEX version_environment ON version (environment);

CREATE INDEX version_path ON version (branch_id, path, closed);

CREATE INDEX version_workload ON version (workload);

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

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    by_whom TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    detail  TEXT    NOT NULL,
    address TEXT    NOT NULL
) STRICT;

CREATE TABLE branch (
    id          INTEGER PRIMARY KEY,
    repository  TEXT    NOT NULL,
    ref         TEXT    NOT NULL,
    kind        TEXT    NOT NULL DEFAULT '',
    environment TEXT    NOT NULL DEFAULT '',
    head        INTEGER NOT NULL DEFAULT 0, -- number of a commit; 0 means none
    UNIQUE (repository, ref)
) STRICT;

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

CREATE TABLE clock (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id),
    noted      INTEGER NOT NULL, -- when it was found out
    from_time  INTEGER NOT NULL, -- by the clock of the cluster
    correction INTEGER NOT NULL, -- microseconds to add to a time of the cluster
    PRIMARY KEY (cluster_id, noted)
) STRICT, WITHOUT ROWID;

CREATE TABLE cluster (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE counter (
    name   TEXT   PRIMARY KEY,
    number BIGINT NOT NULL -- the last one
);

CREATE TABLE ended_session (
    name  TEXT    PRIMARY KEY, -- a hash
    until INTEGER NOT NULL     -- when it would have expired
) STRICT, WITHOUT ROWID;

CREATE TABLE follower (
    source_id     INTEGER NOT NULL,
    reconciler_id INTEGER NOT NULL,
    PRIMARY KEY (source_id, reconciler_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE gitops_commit (
    branch_id     INTEGER NOT NULL REFERENCES branch (id),
    number        INTEGER NOT NULL,
    sha           TEXT    NOT NULL,
    source_commit TEXT    NOT NULL,
    committed     INTEGER NOT NULL,
    recorded      INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (branch_id, number),
    UNIQUE (branch_id, sha)
) STRICT, WITHOUT ROWID;

CREATE TABLE heartbeat (
    cluster_id INTEGER PRIMARY KEY REFERENCES cluster (id),
    heard      INTEGER NOT NULL
, forgotten INTEGER NOT NULL DEFAULT 0, reset INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE membership (
    registration_id INTEGER NOT NULL REFERENCES registration (id),
    environment     TEXT    NOT NULL,
    cluster_type    TEXT    NOT NULL,
    PRIMARY KEY (registration_id, environment, cluster_type)
) STRICT, WITHOUT ROWID;

CREATE TABLE message (
    receiver TEXT   NOT NULL,
    id       TEXT   NOT NULL, -- of the event
    at       BIGINT NOT NULL, -- when the event happened
    queued   BIGINT NOT NULL,
    due      BIGINT NOT NULL, -- the next attempt, or when the claim of a server expires
    attempts BIGINT NOT NULL,
    state    TEXT   NOT NULL, -- pending, delivered, dead or dropped
    finished BIGINT NOT NULL,
    error    TEXT   NOT NULL, -- of the last attempt
    event    TEXT   NOT NULL, -- JSON
    PRIMARY KEY (receiver, id)
);

CREATE TABLE note (
    number  BIGINT PRIMARY KEY,
    at      BIGINT NOT NULL,
    replica TEXT   NOT NULL,
    text    TEXT   NOT NULL
);

CREATE TABLE observation (
    reconciler_id INTEGER NOT NULL,
    observed      INTEGER NOT NULL,
    received      INTEGER NOT NULL,
    outcome_id    INTEGER NOT NULL,
    PRIMARY KEY (reconciler_id, observed)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE receiver (
    name       TEXT   PRIMARY KEY,
    since      BIGINT NOT NULL, -- events before are not for it
    read_until BIGINT NOT NULL  -- the time of the newest step that was read for messages
);

CREATE TABLE reconciler (
    id         INTEGER PRIMARY KEY,
    cluster_id INTEGER NOT NULL REFERENCES cluster (id),
    kind       TEXT    NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    UNIQUE (cluster_id, kind, namespace, name)
) STRICT;

CREATE TABLE reconciler_state (
    reconciler_id INTEGER PRIMARY KEY REFERENCES reconciler (id),
    source_id     INTEGER NOT NULL,
    outcome_id    INTEGER NOT NULL,
    since         INTEGER NOT NULL,
    confirmed     INTEGER NOT NULL,
    received      INTEGER NOT NULL
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
    by_whom         TEXT    NOT NULL, reported_by TEXT NOT NULL DEFAULT '',
    UNIQUE (cluster_id, at)
) STRICT;

CREATE TABLE replica (
    id      TEXT   PRIMARY KEY, -- of one run
    name    TEXT   NOT NULL,
    alone   BIGINT NOT NULL, -- 1 if it cannot work with others
    joined  BIGINT NOT NULL,
    expires BIGINT NOT NULL -- of its lease
);

CREATE TABLE setting (
    name  TEXT   PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE shared_secret (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE silence (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id),
    from_time  INTEGER NOT NULL, -- when it was last heard before
    to_time    INTEGER NOT NULL, -- when it was heard again
    PRIMARY KEY (cluster_id, from_time)
) STRICT, WITHOUT ROWID;

CREATE TABLE source (
    id        INTEGER PRIMARY KEY,
    branch_id INTEGER NOT NULL REFERENCES branch (id),
    path      TEXT    NOT NULL,
    UNIQUE (branch_id, path)
) STRICT;

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

CREATE TABLE work_unit (
    name    TEXT   PRIMARY KEY,
    replica TEXT   NOT NULL, -- empty if none has it
    number  BIGINT NOT NULL, -- grows with each change of the replica
    result  TEXT   NOT NULL  -- of the last round, as JSON
);

CREATE VIEW appearance AS
SELECT COALESCE(NULLIF(v.environment, ''), e.environment, '') AS environment, b.repository, b.ref, s.path, v.workload, v.target, v.version,
       o.revision, o.state, MIN(o.message) AS message, MIN(o.first_observed) AS first_observed, SUM(o.reconcilers) AS reconcilers
FROM branch b
JOIN source s ON s.branch_id = b.id
JOIN outcome o ON o.source_id = s.id
LEFT JOIN gitops_commit g ON g.branch_id = b.id AND g.sha = o.revision
LEFT JOIN version v ON v.branch_id = b.id AND v.path = s.path AND v.opened <= g.number AND v.closed > g.number
LEFT JOIN environment_branch e ON e.branch_id = b.id AND COALESCE(NULLIF(v.environment, ''), e.environment) = e.environment
GROUP BY COALESCE(NULLIF(v.environment, ''), e.environment, ''), b.repository, b.ref, s.path, v.workload, v.target, v.version, o.revision, o.state;

CREATE VIEW change_failure_rate AS
SELECT control_plane, workload, workspace, environment,
       COALESCE(deployed, failed) - COALESCE(deployed, failed) % 604800000000 AS week,
       AVG(CASE WHEN failed IS NULL THEN 0.0 ELSE 1.0 END) AS rate
FROM deployment
GROUP BY control_plane, workload, workspace, environment, COALESCE(deployed, failed) - COALESCE(deployed, failed) % 604800000000;

CREATE VIEW cluster_history AS
SELECT c.name AS cluster, r.kind, r.namespace, r.name, b.environment, b.repository, b.ref, s.path,
       o.revision, o.state, o.message, o.applied, o.health, o.unhealthy, x.observed, x.received
FROM observation x
JOIN reconciler r ON r.id = x.reconciler_id
JOIN cluster c ON c.id = r.cluster_id
JOIN outcome o ON o.id = x.outcome_id
JOIN source s ON s.id = o.source_id
JOIN branch b ON b.id = s.branch_id;

CREATE VIEW current_environment AS
SELECT COALESCE(e.environment, '') AS environment, b.repository, b.ref, b.kind, o.revision, o.state,
       SUM(o.reconcilers) AS reconcilers, MIN(o.first_observed) AS since
FROM outcome o
JOIN source s ON s.id = o.source_id
JOIN branch b ON b.id = s.branch_id
LEFT JOIN environment_branch e ON e.branch_id = b.id
WHERE o.reconcilers > 0
GROUP BY COALESCE(e.environment, ''), b.repository, b.ref, b.kind, o.revision, o.state;

CREATE VIEW current_membership AS
SELECT g.cluster_id, c.name AS cluster, m.environment, m.cluster_type, h.heard AS last_heard
FROM registration g
JOIN cluster c ON c.id = g.cluster_id
JOIN membership m ON m.registration_id = g.id
LEFT JOIN heartbeat h ON h.cluster_id = g.cluster_id
WHERE g.until = 9223372036854775807 AND g.revoked = 0;

CREATE VIEW current_promotion AS
SELECT p.subject, p.commit_sha, p.environment, s.at, s.kind, s.reason, s.by_whom, s.detail
FROM promotion p
JOIN promotion_step s ON s.id = (
    SELECT t.id FROM promotion_step t WHERE t.promotion_id = p.id ORDER BY t.at DESC, t.id DESC LIMIT 1);

CREATE VIEW current_reconciler AS
SELECT c.name AS cluster, r.kind, r.namespace, r.name, b.environment, b.repository, b.ref, s.path,
       o.revision, CASE o.state WHEN 1 THEN 'ready' WHEN 2 THEN 'progressing' WHEN 3 THEN 'suspended' ELSE 'failed' END AS state,
       o.message, o.applied, CASE o.health WHEN 1 THEN 'healthy' WHEN 3 THEN 'progressing' WHEN 4 THEN 'degraded' ELSE 'unknown' END AS health, o.unhealthy,
       x.since, x.confirmed, x.received, h.heard AS last_heard
FROM reconciler_state x
JOIN reconciler r ON r.id = x.reconciler_id
JOIN cluster c ON c.id = r.cluster_id
JOIN outcome o ON o.id = x.outcome_id
JOIN source s ON s.id = x.source_id
JOIN branch b ON b.id = s.branch_id
LEFT JOIN heartbeat h ON h.cluster_id = c.id;

CREATE VIEW current_workload AS
SELECT workload, workspace, environment, target, path, version, build, commit_sha, built, state,
       SUM(reconcilers) AS reconcilers, MIN(first_observed) AS since
FROM outcome_version WHERE reconcilers > 0
GROUP BY workload, workspace, environment, target, path, version, build, commit_sha, built, state;

CREATE VIEW deployment AS
SELECT '' AS control_plane, workload, workspace, environment, target, path, version, build, commit_sha, built,
       MIN(CASE WHEN state = 1 THEN first_observed END) AS deployed,
       MIN(CASE WHEN state = 4 THEN first_observed END) AS failed
FROM outcome_version
WHERE state IN (1, 4)
GROUP BY workload, workspace, environment, target, path, version, build, commit_sha, built
UNION ALL
SELECT p.subject, '', '', p.environment, '', '', p.commit_sha, '', p.commit_sha,
       COALESCE((SELECT MIN(t.at) FROM promotion q JOIN promotion_step t ON t.promotion_id = q.id
                 WHERE q.subject = p.subject AND q.commit_sha = p.commit_sha AND t.kind = 'started'), 0),
       MIN(CASE WHEN s.kind = 'deployed' THEN s.at END),
       MIN(CASE WHEN s.kind <> 'deployed' THEN s.at END)
FROM promotion p
JOIN promotion_step s ON s.promotion_id = p.id
WHERE p.subject NOT LIKE '%#%' AND p.environment NOT LIKE '%/%'
  AND (s.kind IN ('deployed', 'failed') OR s.kind IN ('rolledBack', 'aborted') AND EXISTS (
       SELECT 1 FROM promotion_step e WHERE e.promotion_id = p.id AND e.kind IN ('published', 'deployed') AND e.at < s.at))
GROUP BY p.id, p.subject, p.environment, p.commit_sha;

CREATE VIEW deployment_frequency AS
SELECT control_plane, workload, workspace, environment, deployed - deployed % 604800000000 AS week, COUNT(*) AS deployments
FROM deployment WHERE deployed IS NOT NULL
GROUP BY control_plane, workload, workspace, environment, deployed - deployed % 604800000000;

CREATE VIEW discrepancy AS
SELECT CASE WHEN o.state = 4 THEN 'failed' WHEN o.revision <> g.sha THEN 'behind' ELSE 'unready' END AS discrepancy,
       m.cluster, m.environment, m.cluster_type, g.sha AS expected,
       r.kind, r.namespace, r.name, b.repository, b.ref, s.path, o.revision, o.state, o.message,
       o.applied, o.health, o.unhealthy, x.since, m.last_heard
FROM branch b
JOIN environment_branch e ON e.branch_id = b.id
JOIN gitops_commit g ON g.branch_id = b.id AND g.number = b.head
JOIN source s ON s.branch_id = b.id
JOIN reconciler_state x ON x.source_id = s.id
JOIN outcome o ON o.id = x.outcome_id
JOIN reconciler r ON r.id = x.reconciler_id
JOIN current_membership m ON m.cluster_id = r.cluster_id AND m.environment = e.environment
WHERE b.kind IN ('platform', 'ring') AND (o.state <> 1 OR o.revision <> g.sha)
UNION ALL
SELECT 'missing', m.cluster, m.environment, m.cluster_type, g.sha, '', '', '', b.repository, b.ref, '', '', 0, '', '', 0, '', 0, m.last_heard
FROM branch b
JOIN environment_branch e ON e.branch_id = b.id
JOIN gitops_commit g ON g.branch_id = b.id AND g.number = b.head
JOIN current_membership m ON m.environment = e.environment
WHERE b.kind = 'platform' AND (b.repository, e.environment, m.cluster_id) NOT IN (
    SELECT p.repository, f.environment, r.cluster_id
    FROM branch p
    JOIN environment_branch f ON f.branch_id = p.id
    JOIN source s ON s.branch_id = p.id
    JOIN reconciler_state x ON x.source_id = s.id
    JOIN reconciler r ON r.id = x.reconciler_id
    WHERE p.kind IN ('platform', 'ring'));

CREATE VIEW environment_branch AS
SELECT b.id AS branch_id, b.environment FROM branch b WHERE b.environment <> ''
UNION
SELECT b.id, a.environment FROM branch b JOIN assignment a ON a.branch_id = b.id WHERE b.environment = '' AND a.environment <> ''
UNION
SELECT b.id, v.environment FROM branch b JOIN version v ON v.branch_id = b.id WHERE b.environment = '' AND v.environment <> '';

CREATE VIEW environment_history AS
SELECT environment, at, 'promotion' AS what, kind AS event, commit_sha AS revision, reason AS message, by_whom
FROM promotion_step s JOIN promotion p ON p.id = s.promotion_id
UNION ALL
SELECT COALESCE(e.environment, ''), g.recorded, 'commit', b.kind, g.sha, b.repository, ''
FROM gitops_commit g JOIN branch b ON b.id = g.branch_id LEFT JOIN environment_branch e ON e.branch_id = b.id
UNION ALL
SELECT environment, first_observed, 'rollout',
       CASE state WHEN 1 THEN 'ready' WHEN 2 THEN 'progressing' WHEN 3 THEN 'suspended' ELSE 'failed' END, revision, message, ''
FROM appearance;

CREATE VIEW failure AS
SELECT '' AS control_plane, v.workload, v.workspace, v.environment, x.reconciler_id, v.message, x.observed AS failed,
       (SELECT MIN(y.observed) FROM observation y
        WHERE y.reconciler_id = x.reconciler_id AND y.observed > x.observed AND y.outcome_id < 2305843009213693952) AS restored
FROM observation x
JOIN outcome_version v ON v.outcome_id = x.outcome_id
WHERE x.outcome_id >= 4611686018427387904
  AND COALESCE((SELECT y.outcome_id FROM observation y
                WHERE y.reconciler_id = x.reconciler_id AND y.observed < x.observed
                ORDER BY y.observed DESC LIMIT 1), 0) < 4611686018427387904
UNION ALL
SELECT p.subject, '', '', p.environment, 0, s.reason, s.at,
       (SELECT MIN(t.at) FROM promotion q JOIN promotion_step t ON t.promotion_id = q.id
        WHERE q.subject = p.subject AND q.environment = p.environment AND t.kind = 'deployed' AND t.at > s.at)
FROM promotion p
JOIN promotion_step s ON s.promotion_id = p.id
WHERE p.subject NOT LIKE '%#%' AND p.environment NOT LIKE '%/%' AND s.kind = 'failed';

CREATE VIEW incident AS
SELECT control_plane, workload, workspace, environment, MIN(failed) AS failed,
       CASE WHEN COUNT(*) = COUNT(restored) THEN MAX(restored) END AS restored, COUNT(*) AS failures
FROM (
    SELECT control_plane, workload, workspace, environment, failed, restored,
           SUM(begins) OVER (PARTITION BY control_plane, workload, workspace, environment ORDER BY failed, reconciler_id
                             ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS outage
    FROM (
        SELECT control_plane, workload, workspace, environment, reconciler_id, failed, restored,
               CASE WHEN failed <= MAX(COALESCE(restored, 9223372036854775807))
                        OVER (PARTITION BY control_plane, workload, workspace, environment ORDER BY failed, reconciler_id
                              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                    THEN 0 ELSE 1 END AS begins
        FROM failure) f) o
GROUP BY control_plane, workload, workspace, environment, outage;

CREATE VIEW lead_time AS
SELECT control_plane, workload, workspace, environment, week, took / 1000000.0 AS seconds
FROM (
    SELECT control_plane, workload, workspace, environment, week, took,
           ROW_NUMBER() OVER (PARTITION BY control_plane, workload, workspace, environment, week ORDER BY took) AS place,
           COUNT(*) OVER (PARTITION BY control_plane, workload, workspace, environment, week) AS of_all
    FROM (
        SELECT control_plane, workload, workspace, environment, deployed - deployed % 604800000000 AS week, deployed - built AS took
        FROM deployment WHERE deployed IS NOT NULL AND built > 0) d) m
WHERE place = (of_all + 1) / 2;

CREATE VIEW outcome_version AS
SELECT o.id AS outcome_id, o.source_id, o.revision, o.state, o.message, o.first_observed, o.reconcilers,
       v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built
FROM outcome o
JOIN source s ON s.id = o.source_id
JOIN gitops_commit g ON g.branch_id = s.branch_id AND g.sha = o.revision
JOIN version v ON v.branch_id = s.branch_id AND v.path = s.path AND v.opened <= g.number AND v.closed > g.number;

CREATE VIEW time_to_restore AS
SELECT control_plane, workload, workspace, environment, week, of_all AS incidents, took / 1000000.0 AS seconds
FROM (
    SELECT control_plane, workload, workspace, environment, week, took,
           ROW_NUMBER() OVER (PARTITION BY control_plane, workload, workspace, environment, week ORDER BY took) AS place,
           COUNT(*) OVER (PARTITION BY control_plane, workload, workspace, environment, week) AS of_all
    FROM (
        SELECT control_plane, workload, workspace, environment, failed - failed % 604800000000 AS week, restored - failed AS took
        FROM incident WHERE restored IS NOT NULL) i) m
WHERE place = (of_all + 1) / 2;

CREATE VIEW wanted_assignment AS
SELECT COALESCE(NULLIF(a.environment, ''), b.environment) AS environment, b.repository, b.ref, a.cluster_type, a.target, a.workload, a.workspace
FROM branch b
JOIN assignment a ON a.branch_id = b.id AND a.opened <= b.head AND a.closed > b.head;

CREATE VIEW wanted_version AS
SELECT v.environment, b.repository, b.ref, v.path, v.workload, v.workspace, v.target, v.version, v.build, v.commit_sha, v.built
FROM branch b
JOIN version v ON v.branch_id = b.id AND v.opened <= b.head AND v.closed > b.head;
