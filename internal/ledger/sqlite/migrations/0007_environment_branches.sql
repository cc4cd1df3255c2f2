-- Which environments a branch is of: mostly one. A branch that several share is of those that ever wanted something of it.
-- One of which no commit is recorded is of none, and has no row.
CREATE VIEW environment_branch AS
SELECT b.id AS branch_id, b.environment FROM branch b WHERE b.environment <> ''
UNION
SELECT b.id, a.environment FROM branch b JOIN assignment a ON a.branch_id = b.id WHERE b.environment = '' AND a.environment <> ''
UNION
SELECT b.id, v.environment FROM branch b JOIN version v ON v.branch_id = b.id WHERE b.environment = '' AND v.environment <> '';

DROP VIEW current_environment;
DROP VIEW environment_history;
DROP VIEW appearance;
DROP VIEW discrepancy;

-- How an environment is doing: reconcilers by branch, revision and state. What follows a branch that several share counts in each.
CREATE VIEW current_environment AS
SELECT COALESCE(e.environment, '') AS environment, b.repository, b.ref, b.kind, o.revision, o.state,
       SUM(o.reconcilers) AS reconcilers, MIN(o.first_observed) AS since
FROM outcome o
JOIN source s ON s.id = o.source_id
JOIN branch b ON b.id = s.branch_id
LEFT JOIN environment_branch e ON e.branch_id = b.id
WHERE o.reconcilers > 0
GROUP BY COALESCE(e.environment, ''), b.repository, b.ref, b.kind, o.revision, o.state;

-- The first time that any reconciler was at a revision of a source, in a state, and how many are there now.
-- On a branch that several environments share it is that of the version, or all of them.
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

-- Everything that happened to an environment, in one list. what is promotion, commit or rollout.
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

-- Which clusters differ from the head of their environment's platform branch, and since when.
CREATE VIEW discrepancy AS
SELECT CASE WHEN o.state = 4 THEN 'failed' WHEN o.revision <> g.sha THEN 'behind' ELSE 'unready' END AS discrepancy,
       m.cluster, m.environment, m.cluster_type, g.sha AS expected,
       r.kind, r.namespace, r.name, b.repository, b.ref, s.path, o.revision, o.state, o.message, x.since, m.last_heard
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
SELECT 'missing', m.cluster, m.environment, m.cluster_type, g.sha, '', '', '', b.repository, b.ref, '', '', 0, '', 0, m.last_heard
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
