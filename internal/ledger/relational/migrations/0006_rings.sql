-- The commit of the environment's platform branch that a commit of a ring was derived from; '' on branches that are not of rings.
ALTER TABLE gitops_commit ADD COLUMN origin TEXT NOT NULL DEFAULT '';

-- Clusters that differ from the head of the branch that they follow: the platform branch of an environment, or one of its rings.
DROP VIEW discrepancy;
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
