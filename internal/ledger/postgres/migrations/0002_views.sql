-- The questions that the ledger answers, for people and dashboards. The same text serves SQLite and PostgreSQL.
-- Times are microseconds, as in the tables.

-- Which reconciler is where, and how it is doing.
CREATE VIEW current_reconciler AS
SELECT c.name AS cluster, r.kind, r.namespace, r.name, b.environment, b.repository, b.ref, s.path,
       o.revision, CASE o.state WHEN 1 THEN 'ready' WHEN 2 THEN 'progressing' WHEN 3 THEN 'suspended' ELSE 'failed' END AS state,
       o.message, x.since, x.confirmed, x.received, h.heard AS last_heard
FROM reconciler_state x
JOIN reconciler r ON r.id = x.reconciler_id
JOIN cluster c ON c.id = r.cluster_id
JOIN outcome o ON o.id = x.outcome_id
JOIN source s ON s.id = x.source_id
JOIN branch b ON b.id = s.branch_id
LEFT JOIN heartbeat h ON h.cluster_id = c.id;

-- The registration in force of every cluster, one row a membership.
CREATE VIEW current_membership AS
SELECT g.cluster_id, c.name AS cluster, m.environment, m.cluster_type, h.heard AS last_heard
FROM registration g
JOIN cluster c ON c.id = g.cluster_id
JOIN membership m ON m.registration_id = g.id
LEFT JOIN heartbeat h ON h.cluster_id = g.cluster_id
WHERE g.until = 9223372036854775807 AND g.revoked = 0;

-- Which version a revision of a source holds: where what clusters say and what descriptors say come together.
CREATE VIEW outcome_version AS
SELECT o.id AS outcome_id, o.source_id, o.revision, o.state, o.message, o.first_observed, o.reconcilers,
       v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built
FROM outcome o
JOIN source s ON s.id = o.source_id
JOIN gitops_commit g ON g.branch_id = s.branch_id AND g.sha = o.revision
JOIN version v ON v.branch_id = s.branch_id AND v.path = s.path AND v.opened <= g.number AND v.closed > g.number;

-- Which version of each workload is where, on how many reconcilers, in which state, and since when on the first one.
CREATE VIEW current_workload AS
SELECT workload, workspace, environment, target, path, version, build, commit_sha, built, state,
       SUM(reconcilers) AS reconcilers, MIN(first_observed) AS since
FROM outcome_version WHERE reconcilers > 0
GROUP BY workload, workspace, environment, target, path, version, build, commit_sha, built, state;

-- How an environment is doing: reconcilers by branch, revision and state.
CREATE VIEW current_environment AS
SELECT b.environment, b.repository, b.ref, b.kind, o.revision, o.state,
       SUM(o.reconcilers) AS reconcilers, MIN(o.first_observed) AS since
FROM outcome o
JOIN source s ON s.id = o.source_id
JOIN branch b ON b.id = s.branch_id
WHERE o.reconcilers > 0
GROUP BY b.environment, b.repository, b.ref, b.kind, o.revision, o.state;

-- Which clusters differ from the head of their environment's platform branch, and since when.
CREATE VIEW discrepancy AS
SELECT CASE WHEN o.state = 4 THEN 'failed' WHEN o.revision <> g.sha THEN 'behind' ELSE 'unready' END AS discrepancy,
       m.cluster, m.environment, m.cluster_type, g.sha AS expected,
       r.kind, r.namespace, r.name, b.repository, b.ref, s.path, o.revision, o.state, o.message, x.since, m.last_heard
FROM branch b
JOIN gitops_commit g ON g.branch_id = b.id AND g.number = b.head
JOIN source s ON s.branch_id = b.id
JOIN reconciler_state x ON x.source_id = s.id
JOIN outcome o ON o.id = x.outcome_id
JOIN reconciler r ON r.id = x.reconciler_id
JOIN current_membership m ON m.cluster_id = r.cluster_id AND m.environment = b.environment
WHERE b.kind = 'platform' AND (o.state <> 1 OR o.revision <> g.sha)
UNION ALL
SELECT 'missing', m.cluster, m.environment, m.cluster_type, g.sha, '', '', '', b.repository, b.ref, '', '', 0, '', 0, m.last_heard
FROM branch b
JOIN gitops_commit g ON g.branch_id = b.id AND g.number = b.head
JOIN current_membership m ON m.environment = b.environment
WHERE b.kind = 'platform' AND (b.id, m.cluster_id) NOT IN (
    SELECT s.branch_id, r.cluster_id
    FROM branch p
    JOIN source s ON s.branch_id = p.id
    JOIN reconciler_state x ON x.source_id = s.id
    JOIN reconciler r ON r.id = x.reconciler_id
    WHERE p.kind = 'platform');

-- Every observation with the names of what it is about: the history of a cluster.
CREATE VIEW cluster_history AS
SELECT c.name AS cluster, r.kind, r.namespace, r.name, b.environment, b.repository, b.ref, s.path,
       o.revision, o.state, o.message, x.observed, x.received
FROM observation x
JOIN reconciler r ON r.id = x.reconciler_id
JOIN cluster c ON c.id = r.cluster_id
JOIN outcome o ON o.id = x.outcome_id
JOIN source s ON s.id = o.source_id
JOIN branch b ON b.id = s.branch_id;

-- Versions that arrived: the history of a workload and of an environment.
-- deployed is when the first reconciler had it ready, failed when the first one failed with it; NULL means never.
CREATE VIEW deployment AS
SELECT workload, workspace, environment, target, path, version, build, commit_sha, built,
       MIN(CASE WHEN state = 1 THEN first_observed END) AS deployed,
       MIN(CASE WHEN state = 4 THEN first_observed END) AS failed
FROM outcome_version
WHERE state IN (1, 4)
GROUP BY workload, workspace, environment, target, path, version, build, commit_sha, built;

-- The times in which a reconciler of a workload had failed; restored is NULL while it lasts.
CREATE VIEW incident AS
SELECT v.workload, v.workspace, v.environment, v.message, x.reconciler_id, x.observed AS failed,
       (SELECT MIN(y.observed) FROM observation y
        WHERE y.reconciler_id = x.reconciler_id AND y.observed > x.observed AND y.outcome_id < 2305843009213693952) AS restored
FROM observation x
JOIN outcome_version v ON v.outcome_id = x.outcome_id
WHERE x.outcome_id >= 4611686018427387904
  AND COALESCE((SELECT y.outcome_id FROM observation y
                WHERE y.reconciler_id = x.reconciler_id AND y.observed < x.observed
                ORDER BY y.observed DESC LIMIT 1), 0) < 4611686018427387904;

-- The four figures of software delivery, by workload, team, environment and week; week is its beginning.
CREATE VIEW deployment_frequency AS
SELECT workload, workspace, environment, deployed - deployed % 604800000000 AS week, COUNT(*) AS deployments
FROM deployment WHERE deployed IS NOT NULL
GROUP BY workload, workspace, environment, deployed - deployed % 604800000000;

-- From build to the first cluster.
CREATE VIEW lead_time AS
SELECT workload, workspace, environment, deployed - deployed % 604800000000 AS week, AVG((deployed - built) / 1000000.0) AS seconds
FROM deployment WHERE deployed IS NOT NULL AND built > 0
GROUP BY workload, workspace, environment, deployed - deployed % 604800000000;

-- The part of the versions of a week that failed on a cluster.
CREATE VIEW change_failure_rate AS
SELECT workload, workspace, environment,
       COALESCE(deployed, failed) - COALESCE(deployed, failed) % 604800000000 AS week,
       AVG(CASE WHEN failed IS NULL THEN 0.0 ELSE 1.0 END) AS rate
FROM deployment
GROUP BY workload, workspace, environment, COALESCE(deployed, failed) - COALESCE(deployed, failed) % 604800000000;

-- From failure to the next success, of incidents that are over.
CREATE VIEW time_to_restore AS
SELECT workload, workspace, environment, failed - failed % 604800000000 AS week,
       COUNT(*) AS incidents, AVG((restored - failed) / 1000000.0) AS seconds
FROM incident WHERE restored IS NOT NULL
GROUP BY workload, workspace, environment, failed - failed % 604800000000;

-- Where each promotion is.
CREATE VIEW current_promotion AS
SELECT p.subject, p.commit_sha, p.environment, s.at, s.kind, s.reason, s.by_whom, s.detail
FROM promotion p
JOIN promotion_step s ON s.id = (
    SELECT t.id FROM promotion_step t WHERE t.promotion_id = p.id ORDER BY t.at DESC, t.id DESC LIMIT 1);
