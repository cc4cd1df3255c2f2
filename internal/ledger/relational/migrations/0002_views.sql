-- Views for queries and dashboards, the same for all databases. Times are microseconds since 1970, as in the tables.

-- Every reconciler with its source and state.
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

-- Memberships by the registrations in force.
CREATE VIEW current_membership AS
SELECT g.cluster_id, c.name AS cluster, m.environment, m.cluster_type, h.heard AS last_heard
FROM registration g
JOIN cluster c ON c.id = g.cluster_id
JOIN membership m ON m.registration_id = g.id
LEFT JOIN heartbeat h ON h.cluster_id = g.cluster_id
WHERE g.until = 9223372036854775807 AND g.revoked = 0;

-- Environments of each branch with a recorded commit: mostly one. A shared branch has those of all its assignments and versions.
CREATE VIEW environment_branch AS
SELECT b.id AS branch_id, b.environment FROM branch b WHERE b.environment <> ''
UNION
SELECT b.id, a.environment FROM branch b JOIN assignment a ON a.branch_id = b.id WHERE b.environment = '' AND a.environment <> ''
UNION
SELECT b.id, v.environment FROM branch b JOIN version v ON v.branch_id = b.id WHERE b.environment = '' AND v.environment <> '';

-- Versions of workloads that a revision of a source contains: joins what clusters report with what descriptors say.
CREATE VIEW outcome_version AS
SELECT o.id AS outcome_id, o.source_id, o.revision, o.state, o.message, o.first_observed, o.reconcilers,
       v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built
FROM outcome o
JOIN source s ON s.id = o.source_id
JOIN gitops_commit g ON g.branch_id = s.branch_id AND g.sha = o.revision
JOIN version v ON v.branch_id = s.branch_id AND v.path = s.path AND v.opened <= g.number AND v.closed > g.number;

-- Versions of workloads by environment and state, with the number of reconcilers and the time of the first one.
CREATE VIEW current_workload AS
SELECT workload, workspace, environment, target, path, version, build, commit_sha, built, state,
       SUM(reconcilers) AS reconcilers, MIN(first_observed) AS since
FROM outcome_version WHERE reconcilers > 0
GROUP BY workload, workspace, environment, target, path, version, build, commit_sha, built, state;

-- Reconcilers of an environment by branch, revision and state. Those that follow a shared branch count in each of its environments.
CREATE VIEW current_environment AS
SELECT COALESCE(e.environment, '') AS environment, b.repository, b.ref, b.kind, o.revision, o.state,
       SUM(o.reconcilers) AS reconcilers, MIN(o.first_observed) AS since
FROM outcome o
JOIN source s ON s.id = o.source_id
JOIN branch b ON b.id = s.branch_id
LEFT JOIN environment_branch e ON e.branch_id = b.id
WHERE o.reconcilers > 0
GROUP BY COALESCE(e.environment, ''), b.repository, b.ref, b.kind, o.revision, o.state;

-- Clusters that differ from the head of their environment's platform branch, and since when.
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
WHERE b.kind = 'platform' AND (o.state <> 1 OR o.revision <> g.sha)
UNION ALL
SELECT 'missing', m.cluster, m.environment, m.cluster_type, g.sha, '', '', '', b.repository, b.ref, '', '', 0, '', '', 0, '', 0, m.last_heard
FROM branch b
JOIN environment_branch e ON e.branch_id = b.id
JOIN gitops_commit g ON g.branch_id = b.id AND g.number = b.head
JOIN current_membership m ON m.environment = e.environment
WHERE b.kind = 'platform' AND (b.id, m.cluster_id) NOT IN (
    SELECT s.branch_id, r.cluster_id
    FROM branch p
    JOIN source s ON s.branch_id = p.id
    JOIN reconciler_state x ON x.source_id = s.id
    JOIN reconciler r ON r.id = x.reconciler_id
    WHERE p.kind = 'platform');

-- Assignments at the heads of platform branches.
CREATE VIEW wanted_assignment AS
SELECT COALESCE(NULLIF(a.environment, ''), b.environment) AS environment, b.repository, b.ref, a.cluster_type, a.target, a.workload, a.workspace
FROM branch b
JOIN assignment a ON a.branch_id = b.id AND a.opened <= b.head AND a.closed > b.head;

-- Versions of workloads at the heads of application branches.
CREATE VIEW wanted_version AS
SELECT v.environment, b.repository, b.ref, v.path, v.workload, v.workspace, v.target, v.version, v.build, v.commit_sha, v.built
FROM branch b
JOIN version v ON v.branch_id = b.id AND v.opened <= b.head AND v.closed > b.head;

-- When a reconciler was first at a revision of a source in a state, and how many are there now.
-- On a shared branch, the environment is that of the version; without a version, all environments of the branch.
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

-- Every observation, with names: the history of a cluster.
CREATE VIEW cluster_history AS
SELECT c.name AS cluster, r.kind, r.namespace, r.name, b.environment, b.repository, b.ref, s.path,
       o.revision, o.state, o.message, o.applied, o.health, o.unhealthy, x.observed, x.received
FROM observation x
JOIN reconciler r ON r.id = x.reconciler_id
JOIN cluster c ON c.id = r.cluster_id
JOIN outcome o ON o.id = x.outcome_id
JOIN source s ON s.id = o.source_id
JOIN branch b ON b.id = s.branch_id;

-- The history of an environment. what is promotion, commit or rollout.
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

-- Versions that were deployed: the history of a workload.
-- deployed is when the first reconciler was ready with it, failed when the first one failed; NULL means never.
CREATE VIEW deployment AS
SELECT workload, workspace, environment, target, path, version, build, commit_sha, built,
       MIN(CASE WHEN state = 1 THEN first_observed END) AS deployed,
       MIN(CASE WHEN state = 4 THEN first_observed END) AS failed
FROM outcome_version
WHERE state IN (1, 4)
GROUP BY workload, workspace, environment, target, path, version, build, commit_sha, built;

-- When reconcilers of a workload failed, and when they were restored; NULL while the failure lasts.
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

-- The four DORA metrics, by workload, workspace, environment and week; week is the first microsecond of it.
CREATE VIEW deployment_frequency AS
SELECT workload, workspace, environment, deployed - deployed % 604800000000 AS week, COUNT(*) AS deployments
FROM deployment WHERE deployed IS NOT NULL
GROUP BY workload, workspace, environment, deployed - deployed % 604800000000;

-- Time from the build to the first cluster.
CREATE VIEW lead_time AS
SELECT workload, workspace, environment, deployed - deployed % 604800000000 AS week, AVG((deployed - built) / 1000000.0) AS seconds
FROM deployment WHERE deployed IS NOT NULL AND built > 0
GROUP BY workload, workspace, environment, deployed - deployed % 604800000000;

-- Share of a week's versions that failed on a cluster.
CREATE VIEW change_failure_rate AS
SELECT workload, workspace, environment,
       COALESCE(deployed, failed) - COALESCE(deployed, failed) % 604800000000 AS week,
       AVG(CASE WHEN failed IS NULL THEN 0.0 ELSE 1.0 END) AS rate
FROM deployment
GROUP BY workload, workspace, environment, COALESCE(deployed, failed) - COALESCE(deployed, failed) % 604800000000;

-- Time from a failure to the next success, for incidents that are over.
CREATE VIEW time_to_restore AS
SELECT workload, workspace, environment, failed - failed % 604800000000 AS week,
       COUNT(*) AS incidents, AVG((restored - failed) / 1000000.0) AS seconds
FROM incident WHERE restored IS NOT NULL
GROUP BY workload, workspace, environment, failed - failed % 604800000000;

-- The last step of each promotion.
CREATE VIEW current_promotion AS
SELECT p.subject, p.commit_sha, p.environment, s.at, s.kind, s.reason, s.by_whom, s.detail
FROM promotion p
JOIN promotion_step s ON s.id = (
    SELECT t.id FROM promotion_step t WHERE t.promotion_id = p.id ORDER BY t.at DESC, t.id DESC LIMIT 1);
