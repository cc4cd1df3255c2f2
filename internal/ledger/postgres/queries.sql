-- Statements that store reports, by columns of values.

-- name: putOutcomes
-- Skips rows that need no change, because touching them would lock them.
INSERT INTO outcome (id, source_id, revision, state, message, applied, health, unhealthy, first_observed, reconcilers)
SELECT u.*, 0
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::bigint[])
    u (id, source_id, revision, state, message, applied, health, unhealthy, first_observed)
LEFT JOIN outcome o ON o.id = u.id
WHERE o.id IS NULL OR u.first_observed < o.first_observed
ORDER BY u.id
ON CONFLICT (id) DO UPDATE SET first_observed = excluded.first_observed WHERE excluded.first_observed < outcome.first_observed;

-- name: lockOutcomes
SELECT FROM outcome WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE;

-- name: moveReconcilers
UPDATE outcome o SET reconcilers = o.reconcilers + u.reconcilers FROM unnest($1::bigint[], $2::bigint[]) u (id, reconcilers) WHERE o.id = u.id;

-- name: putFacts
INSERT INTO observation (reconciler_id, observed, received, outcome_id)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
ON CONFLICT (reconciler_id, observed) DO UPDATE SET received = excluded.received, outcome_id = excluded.outcome_id
WHERE excluded.outcome_id > observation.outcome_id;

-- name: thinFacts
DELETE FROM observation x USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) u (reconciler_id, low, high)
WHERE x.reconciler_id = u.reconciler_id AND x.observed > u.low AND x.observed < u.high;

-- name: putStates
INSERT INTO reconciler_state (reconciler_id, source_id, outcome_id, since, confirmed, received)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
ON CONFLICT (reconciler_id) DO UPDATE SET source_id = excluded.source_id, outcome_id = excluded.outcome_id,
    since = excluded.since, confirmed = excluded.confirmed, received = excluded.received;

-- name: putFollowers
INSERT INTO follower (source_id, reconciler_id) SELECT * FROM unnest($1::bigint[], $2::bigint[]) ON CONFLICT DO NOTHING;

-- name: putHeard
-- The gaps, $3 to $5, are cut to begin at the stored heartbeats, which all parts of the statement see as they were before it.
WITH gap AS (
    SELECT u.cluster_id, GREATEST(u.from_time, h.heard, h.forgotten) AS from_time, u.to_time
    FROM unnest($3::bigint[], $4::bigint[], $5::bigint[]) u (cluster_id, from_time, to_time) LEFT JOIN heartbeat h ON h.cluster_id = u.cluster_id
), kept AS (
    INSERT INTO silence (cluster_id, from_time, to_time)
    SELECT cluster_id, from_time, to_time FROM gap
    WHERE from_time > 0 AND to_time - from_time >= COALESCE((SELECT MIN(value) FROM setting WHERE name LIKE 'silence %'), $6::bigint)
    ON CONFLICT DO NOTHING
)
INSERT INTO heartbeat (cluster_id, heard) SELECT * FROM unnest($1::bigint[], $2::bigint[])
ON CONFLICT (cluster_id) DO UPDATE SET heard = excluded.heard, forgotten = 0 WHERE excluded.heard > heartbeat.heard;

-- name: insertBranches
INSERT INTO branch (repository, ref)
SELECT DISTINCT u.repository, u.ref FROM unnest($1::text[], $2::text[]) u (repository, ref)
WHERE NOT EXISTS (SELECT 1 FROM branch b WHERE b.repository = u.repository AND b.ref = u.ref)
ORDER BY 1, 2 ON CONFLICT DO NOTHING;

-- name: insertSources
INSERT INTO source (branch_id, path)
SELECT b.id, u.path FROM unnest($1::text[], $2::text[], $3::text[]) u (repository, ref, path)
JOIN branch b ON b.repository = u.repository AND b.ref = u.ref
WHERE NOT EXISTS (SELECT 1 FROM source s WHERE s.branch_id = b.id AND s.path = u.path)
ORDER BY 1, 2 ON CONFLICT DO NOTHING;

-- name: findSources
SELECT u.place, s.id FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY u (repository, ref, path, place)
JOIN branch b ON b.repository = u.repository AND b.ref = u.ref
JOIN source s ON s.branch_id = b.id AND s.path = u.path;

-- name: insertClusters
INSERT INTO cluster (name) SELECT u.name FROM unnest($1::text[]) u (name)
WHERE NOT EXISTS (SELECT 1 FROM cluster c WHERE c.name = u.name) ORDER BY 1 ON CONFLICT DO NOTHING;

-- name: lockClusters
-- Only the transaction that locks a cluster's row takes its reports.
SELECT name, id FROM cluster WHERE name = ANY ($1::text[]) ORDER BY id FOR UPDATE;

-- name: insertReconcilers
INSERT INTO reconciler (cluster_id, kind, namespace, name)
SELECT u.cluster_id, u.kind, u.namespace, u.name
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) u (cluster_id, kind, namespace, name)
ON CONFLICT DO NOTHING;

-- name: findReconcilers
SELECT u.place, r.id, COALESCE(x.source_id, 0), COALESCE(x.outcome_id, 0), COALESCE(x.since, 0), COALESCE(x.confirmed, 0), COALESCE(x.received, 0)
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY u (cluster_id, kind, namespace, name, place)
JOIN reconciler r ON r.cluster_id = u.cluster_id AND r.kind = u.kind AND r.namespace = u.namespace AND r.name = u.name
LEFT JOIN reconciler_state x ON x.reconciler_id = r.id;
