-- A commit of the platform that a user took back is a failed change.
DROP VIEW change_failure_rate;
DROP VIEW lead_time;
DROP VIEW deployment_frequency;
DROP VIEW deployment;

-- Versions of workloads, and promoted commits of control planes, that were deployed. A row of the platform has control_plane set and
-- no workload; rings of an environment are not deployments of their own. deployed is when the first reconciler was ready with a version, or
-- when the gate passed for a commit; failed when the first one failed, or a user took back a commit that had been published; NULL means
-- never. built is when the version was built, or when the promotion of the commit began; 0 if unknown.
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

-- The four DORA metrics, by control plane, workload, workspace, environment and week; week is the first microsecond of it.
CREATE VIEW deployment_frequency AS
SELECT control_plane, workload, workspace, environment, deployed - deployed % 604800000000 AS week, COUNT(*) AS deployments
FROM deployment WHERE deployed IS NOT NULL
GROUP BY control_plane, workload, workspace, environment, deployed - deployed % 604800000000;

-- Median time from the build to the first cluster. Of two middle values, a median is the lower one.
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

-- Share of a week's deployments that failed on a cluster.
CREATE VIEW change_failure_rate AS
SELECT control_plane, workload, workspace, environment,
       COALESCE(deployed, failed) - COALESCE(deployed, failed) % 604800000000 AS week,
       AVG(CASE WHEN failed IS NULL THEN 0.0 ELSE 1.0 END) AS rate
FROM deployment
GROUP BY control_plane, workload, workspace, environment, COALESCE(deployed, failed) - COALESCE(deployed, failed) % 604800000000;
