-- More questions, for people and dashboards. The same text serves SQLite and PostgreSQL.

-- What should run where, by the heads of platform branches.
CREATE VIEW wanted_assignment AS
SELECT b.environment, b.repository, b.ref, a.cluster_type, a.target, a.workload, a.workspace
FROM branch b
JOIN assignment a ON a.branch_id = b.id AND a.opened <= b.head AND a.closed > b.head;

-- Which version of each workload should run, by the heads of application branches.
CREATE VIEW wanted_version AS
SELECT v.environment, b.repository, b.ref, v.path, v.workload, v.workspace, v.target, v.version, v.build, v.commit_sha, v.built
FROM branch b
JOIN version v ON v.branch_id = b.id AND v.opened <= b.head AND v.closed > b.head;

-- The first time that any reconciler was at a revision of a source, in a state, and how many are there now.
CREATE VIEW appearance AS
SELECT b.environment, b.repository, b.ref, s.path, v.workload, v.target, v.version, o.revision, o.state,
       MIN(o.message) AS message, MIN(o.first_observed) AS first_observed, SUM(o.reconcilers) AS reconcilers
FROM branch b
JOIN source s ON s.branch_id = b.id
JOIN outcome o ON o.source_id = s.id
LEFT JOIN gitops_commit g ON g.branch_id = b.id AND g.sha = o.revision
LEFT JOIN version v ON v.branch_id = b.id AND v.path = s.path AND v.opened <= g.number AND v.closed > g.number
GROUP BY b.environment, b.repository, b.ref, s.path, v.workload, v.target, v.version, o.revision, o.state;

-- Everything that happened to an environment, in one list. what is promotion, commit or rollout.
CREATE VIEW environment_history AS
SELECT environment, at, 'promotion' AS what, kind AS event, commit_sha AS revision, reason AS message, by_whom
FROM promotion_step s JOIN promotion p ON p.id = s.promotion_id
UNION ALL
SELECT b.environment, g.recorded, 'commit', b.kind, g.sha, b.repository, ''
FROM gitops_commit g JOIN branch b ON b.id = g.branch_id
UNION ALL
SELECT environment, first_observed, 'rollout',
       CASE state WHEN 1 THEN 'ready' WHEN 2 THEN 'progressing' WHEN 3 THEN 'suspended' ELSE 'failed' END, revision, message, ''
FROM appearance;
