-- Statements that store reports, row by row.

-- name: insertBranch
INSERT INTO branch (repository, ref) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: findSource
SELECT s.id FROM source s JOIN branch b ON b.id = s.branch_id WHERE b.repository = $1 AND b.ref = $2 AND s.path = $3;

-- name: insertSource
INSERT INTO source (branch_id, path) SELECT id, $3 FROM branch WHERE repository = $1 AND ref = $2 RETURNING id;

-- name: findCluster
SELECT id FROM cluster WHERE name = $1;

-- name: insertCluster
INSERT INTO cluster (name) VALUES ($1) RETURNING id;

-- name: findReconciler
SELECT r.id, COALESCE(x.source_id, 0), COALESCE(x.outcome_id, 0), COALESCE(x.since, 0), COALESCE(x.confirmed, 0), COALESCE(x.received, 0)
FROM reconciler r LEFT JOIN reconciler_state x ON x.reconciler_id = r.id
WHERE r.cluster_id = $1 AND r.kind = $2 AND r.namespace = $3 AND r.name = $4;

-- name: insertReconciler
INSERT INTO reconciler (cluster_id, kind, namespace, name) VALUES ($1, $2, $3, $4) RETURNING id;

-- name: putOutcome
INSERT INTO outcome (id, source_id, revision, state, message, applied, health, unhealthy, first_observed, reconcilers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)
ON CONFLICT (id) DO UPDATE SET first_observed = excluded.first_observed WHERE excluded.first_observed < outcome.first_observed;

-- name: moveReconcilers
UPDATE outcome SET reconcilers = reconcilers + $2 WHERE id = $1;

-- name: putFact
INSERT INTO observation (reconciler_id, observed, received, outcome_id) VALUES ($1, $2, $3, $4)
ON CONFLICT (reconciler_id, observed) DO UPDATE SET received = excluded.received, outcome_id = excluded.outcome_id
WHERE excluded.outcome_id > observation.outcome_id;

-- name: thinFacts
DELETE FROM observation WHERE reconciler_id = $1 AND observed > $2 AND observed < $3;

-- name: putState
INSERT INTO reconciler_state (reconciler_id, source_id, outcome_id, since, confirmed, received) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (reconciler_id) DO UPDATE SET source_id = excluded.source_id, outcome_id = excluded.outcome_id,
    since = excluded.since, confirmed = excluded.confirmed, received = excluded.received;

-- name: moveState
-- Leaves out the source, so that the index of sources is not written.
UPDATE reconciler_state SET outcome_id = $3, since = $4, confirmed = $5, received = $6 WHERE reconciler_id = $1 AND source_id = $2;

-- name: putFollower
INSERT INTO follower (source_id, reconciler_id) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: putHeard
INSERT INTO heartbeat (cluster_id, heard) VALUES ($1, $2)
ON CONFLICT (cluster_id) DO UPDATE SET heard = excluded.heard, forgotten = 0 WHERE excluded.heard > heartbeat.heard;

-- name: findHeard
SELECT c.id, COALESCE(h.heard, 0), COALESCE(h.forgotten, 0) FROM cluster c LEFT JOIN heartbeat h ON h.cluster_id = c.id WHERE c.name = $1;

-- name: findSilence
SELECT COALESCE((SELECT MIN(value) FROM setting WHERE name LIKE 'silence %'), $1);

-- name: putSilence
INSERT INTO silence (cluster_id, from_time, to_time) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;
