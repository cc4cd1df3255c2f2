-- Steps are stored with the words that everything uses.
UPDATE promotion_step SET kind = CASE kind
    WHEN 'entered' THEN 'started' WHEN 'arrived' THEN 'deployed' WHEN 'decided' THEN 'stateChanged' WHEN 'shown' THEN 'statusPosted'
    WHEN 'ordered' THEN 'requested' ELSE 'done' END
WHERE kind IN ('entered', 'arrived', 'decided', 'shown', 'ordered', 'fulfilled');

-- Details are JSON objects; those without any were ''. The texts that are replaced cannot be part of a string, in which quotes are escaped.
UPDATE promotion_step SET detail = '{}' WHERE detail = '';
UPDATE promotion_step SET detail = REPLACE(REPLACE(detail, '"phase":"nobody"', '"phase":"noClusters"'), '"phase": "nobody"', '"phase": "noClusters"')
WHERE kind = 'stateChanged' AND detail LIKE '%"nobody"%';
UPDATE promotion_step SET detail = REPLACE(REPLACE(detail, '"order":"', '"request":"'), '"order": "', '"request": "') WHERE kind = 'done';

-- Results of rounds have phases, too. The next rounds store them again.
UPDATE work_unit SET result = '';

DROP VIEW time_to_restore;
DROP VIEW change_failure_rate;
DROP VIEW lead_time;
DROP VIEW deployment_frequency;
DROP VIEW incident;
DROP VIEW failure;
DROP VIEW deployment;

-- Versions of workloads, and promoted commits of control planes, that were deployed. A row of the platform has control_plane set and
-- no workload; rings of an environment are not deployments of their own. deployed is when the first reconciler was ready with a version, or when the gate passed for a commit; failed when
-- the first one failed; NULL means never. built is when the version was built, or when the promotion of the commit began; 0 if unknown.
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
       MIN(CASE WHEN s.kind = 'failed' THEN s.at END)
FROM promotion p
JOIN promotion_step s ON s.promotion_id = p.id
WHERE p.subject NOT LIKE '%#%' AND p.environment NOT LIKE '%/%' AND s.kind IN ('deployed', 'failed')
GROUP BY p.id, p.subject, p.environment, p.commit_sha;

-- When a reconciler of a workload failed, or a commit of a control plane in an environment, and when it was restored; NULL while the
-- failure lasts.
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

-- Outages: from the first failure of a workload, or of the platform, in an environment until none is left. Failures that overlap
-- are one outage; restored is NULL while it lasts.
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

-- Median duration of the outages that are over, by the week in which they began.
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
