-- Statements for every database. The program adds conditions, groups and an order to some of them.

-- name: selectFacts
SELECT c.name, r.kind, r.namespace, r.name, b.repository, b.ref, s.path, o.revision, o.state, o.message, o.applied, o.health, o.unhealthy, x.observed, x.received, o.id, r.id
FROM observation x
JOIN reconciler r ON r.id = x.reconciler_id JOIN cluster c ON c.id = r.cluster_id
JOIN outcome o ON o.id = x.outcome_id JOIN source s ON s.id = o.source_id JOIN branch b ON b.id = s.branch_id
WHERE x.reconciler_id IN (SELECT n.id FROM reconciler n JOIN cluster m ON m.id = n.cluster_id WHERE m.name > $1 AND m.name <= $2)
ORDER BY c.name, r.kind, r.namespace, r.name, x.observed;

-- name: someClusters
-- Facts are read for a few clusters at a time, because a ledger may be larger than memory.
SELECT name FROM cluster WHERE name > $1 ORDER BY name LIMIT 50;

-- name: selectHeartbeats
SELECT c.name, h.heard FROM heartbeat h JOIN cluster c ON c.id = h.cluster_id WHERE h.heard > 0 ORDER BY c.name;

-- name: findSetting
SELECT value FROM setting WHERE name = $1;

-- name: putSetting
INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: deleteSetting
DELETE FROM setting WHERE name = $1;

-- name: selectSilences
SELECT c.name, x.from_time, x.to_time FROM silence x JOIN cluster c ON c.id = x.cluster_id;

-- name: restoreSilence
INSERT INTO silence (cluster_id, from_time, to_time)
SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT)
WHERE NOT EXISTS (SELECT 1 FROM silence y WHERE y.cluster_id = $1 AND y.from_time < $3 AND y.to_time > $2)
ON CONFLICT DO NOTHING;

-- name: deleteSilences
-- Deletes silences until $1 of clusters whose history begins later.
DELETE FROM silence WHERE to_time < $1 AND to_time < COALESCE((
    SELECT MIN(x.observed) FROM reconciler r JOIN observation x ON x.reconciler_id = r.id WHERE r.cluster_id = silence.cluster_id), $1);

-- name: deleteConfirmations
-- Deletes facts of the reconcilers after $2, until $3, with the same outcome as the one before and the one after.
DELETE FROM observation WHERE reconciler_id > $2 AND reconciler_id <= $3 AND observed < $1 AND outcome_id = (
    SELECT y.outcome_id FROM observation y
    WHERE y.reconciler_id = observation.reconciler_id AND y.observed < observation.observed
    ORDER BY y.observed DESC LIMIT 1)
AND outcome_id = (
    SELECT y.outcome_id FROM observation y
    WHERE y.reconciler_id = observation.reconciler_id AND y.observed > observation.observed
    ORDER BY y.observed LIMIT 1);

-- name: deleteTransitions
-- Deletes facts of the reconcilers after $2, until $3, that another one followed until $1, without those of the last $4 revisions of each
-- reconciler. The last one until $1 stays.
WITH change AS (
    SELECT x.reconciler_id, x.observed,
           CASE WHEN o.source_id = LAG(o.source_id) OVER (PARTITION BY x.reconciler_id ORDER BY x.observed)
                 AND o.revision = LAG(o.revision) OVER (PARTITION BY x.reconciler_id ORDER BY x.observed) THEN 0 ELSE 1 END AS changed
    FROM observation x JOIN outcome o ON o.id = x.outcome_id WHERE x.reconciler_id > $2 AND x.reconciler_id <= $3
), numbered AS (
    SELECT reconciler_id, observed, ROW_NUMBER() OVER (PARTITION BY reconciler_id ORDER BY observed DESC) AS number FROM change WHERE changed = 1
), kept AS MATERIALIZED (
    SELECT reconciler_id, observed FROM numbered WHERE number = $4
)
DELETE FROM observation WHERE reconciler_id > $2 AND reconciler_id <= $3 AND observed < $1
AND EXISTS (SELECT 1 FROM kept k WHERE k.reconciler_id = observation.reconciler_id AND k.observed > observation.observed)
AND EXISTS (
    SELECT 1 FROM observation y
    WHERE y.reconciler_id = observation.reconciler_id AND y.observed > observation.observed AND y.observed <= $1);

-- name: nextReconcilers
-- The last one of the next $2 reconcilers.
SELECT COALESCE(MAX(id), $1) FROM (SELECT id FROM reconciler WHERE id > $1 ORDER BY id LIMIT $2) following;

-- name: deleteSessions
DELETE FROM ended_session WHERE until < $1;

-- name: deleteOutcomes
DELETE FROM outcome WHERE first_observed < $1 AND reconcilers = 0
  AND NOT EXISTS (SELECT 1 FROM follower f JOIN observation x ON x.reconciler_id = f.reconciler_id
                  WHERE f.source_id = outcome.source_id AND x.outcome_id = outcome.id);

-- name: insertClock
INSERT INTO clock (cluster_id, noted, from_time, correction) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING;

-- name: selectClock
SELECT c.name, k.from_time, k.correction, k.noted FROM clock k JOIN cluster c ON c.id = k.cluster_id;

-- name: forgetClocks
-- Keeps the last $2 corrections of a cluster.
DELETE FROM clock WHERE cluster_id = $1 AND noted < (
    SELECT MIN(noted) FROM (SELECT noted FROM clock WHERE cluster_id = $1 ORDER BY noted DESC LIMIT $2) kept);

-- name: resetOutcomes
-- The reconcilers of cluster $1 are no longer at their outcomes.
UPDATE outcome SET reconcilers = reconcilers - (
    SELECT COUNT(*) FROM reconciler_state x JOIN reconciler r ON r.id = x.reconciler_id
    WHERE x.outcome_id = outcome.id AND r.cluster_id = (SELECT id FROM cluster WHERE name = $1))
WHERE id IN (
    SELECT x.outcome_id FROM reconciler_state x JOIN reconciler r ON r.id = x.reconciler_id
    WHERE r.cluster_id = (SELECT id FROM cluster WHERE name = $1));

-- name: resetStates
DELETE FROM reconciler_state WHERE reconciler_id IN (
    SELECT id FROM reconciler WHERE cluster_id = (SELECT id FROM cluster WHERE name = $1));

-- name: resetFacts
DELETE FROM observation WHERE observed > $2 AND reconciler_id IN (
    SELECT id FROM reconciler WHERE cluster_id = (SELECT id FROM cluster WHERE name = $1));

-- name: resetHeartbeat
UPDATE heartbeat SET forgotten = CASE WHEN heard > forgotten THEN heard ELSE forgotten END, heard = 0, reset = $2
WHERE cluster_id = (SELECT id FROM cluster WHERE name = $1);

-- name: resetClocks
DELETE FROM clock WHERE cluster_id = (SELECT id FROM cluster WHERE name = $1);

-- name: insertCluster
INSERT INTO cluster (name) VALUES ($1) ON CONFLICT DO NOTHING;

-- name: findCluster
SELECT id FROM cluster WHERE name = $1;

-- name: insertRegistration
INSERT INTO registration (cluster_id, at, until, labels, credential_hash, public_key, reported_by, revoked, by_whom)
VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING;

-- name: findRegistration
SELECT id FROM registration WHERE cluster_id = $1 AND at = $2;

-- name: chainRegistrations
-- Ends each registration where the next one begins, whatever the order in which they were recorded.
UPDATE registration SET until = COALESCE(
    (SELECT MIN(n.at) FROM registration n WHERE n.cluster_id = registration.cluster_id AND n.at > registration.at), 9223372036854775807)
WHERE cluster_id = $1;

-- name: insertMembership
INSERT INTO membership (registration_id, environment, cluster_type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: selectClusters
-- Joins the registration in force at $1. A cluster that only reported has none.
SELECT c.name, COALESCE(g.id, 0), COALESCE(g.at, 0), COALESCE(g.labels, ''), COALESCE(g.credential_hash, ''),
       COALESCE(g.public_key, ''), COALESCE(g.reported_by, ''), COALESCE(g.revoked, 0), COALESCE(g.by_whom, ''), COALESCE(h.heard, 0)
FROM cluster c
LEFT JOIN heartbeat h ON h.cluster_id = c.id
LEFT JOIN registration g ON g.cluster_id = c.id AND g.at <= $1 AND g.until > $1;

-- name: selectMemberships
SELECT registration_id, environment, cluster_type FROM membership;

-- name: credentialCluster
SELECT c.name FROM registration g JOIN cluster c ON c.id = g.cluster_id
WHERE g.credential_hash = $1 AND g.credential_hash <> '' AND g.revoked = 0 AND g.until = 9223372036854775807;

-- name: selectRegistrations
SELECT c.name, g.id, g.at, g.labels, g.credential_hash, g.public_key, g.reported_by, g.revoked, g.by_whom, 0
FROM registration g JOIN cluster c ON c.id = g.cluster_id;

-- name: insertBranch
INSERT INTO branch (repository, ref) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: findBranch
SELECT id FROM branch WHERE repository = $1 AND ref = $2;

-- name: findCommit
SELECT number FROM gitops_commit WHERE branch_id = $1 AND sha = $2;

-- name: lastCommit
SELECT COALESCE(MAX(number), 0) FROM gitops_commit WHERE branch_id = $1;

-- name: insertCommit
INSERT INTO gitops_commit (branch_id, number, sha, source_commit, origin, committed, recorded) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: moveHead
UPDATE branch SET head = $2, kind = $3, environment = $4 WHERE id = $1;

-- name: selectCommits
SELECT b.id, g.number, b.repository, b.ref, b.kind, b.environment, g.sha, g.source_commit, g.origin, g.committed, g.recorded
FROM gitops_commit g JOIN branch b ON b.id = g.branch_id;

-- name: selectObservations
SELECT c.name, r.kind, r.namespace, r.name, b.repository, b.ref, s.path, o.revision, o.state, o.message, o.applied, o.health, o.unhealthy, x.observed, x.received, o.id, r.id
FROM cluster c CROSS JOIN reconciler r CROSS JOIN observation x CROSS JOIN outcome o CROSS JOIN source s CROSS JOIN branch b
WHERE r.cluster_id = c.id AND x.reconciler_id = r.id AND o.id = x.outcome_id AND s.id = o.source_id AND b.id = s.branch_id;

-- name: selectDeployments
SELECT workload, workspace, target, environment, path, version, build, commit_sha, built, control_plane, COALESCE(deployed, 0), COALESCE(failed, 0)
FROM deployment;

-- name: selectIncidents
SELECT control_plane, workload, workspace, environment, failures, failed, COALESCE(restored, 0) FROM incident;

-- name: selectAppearances
-- Like the view appearance, which groups before conditions apply and so would be slow.
SELECT b.environment, b.repository, b.ref, s.path, o.revision, MIN(o.message), o.state, MIN(o.first_observed), SUM(o.reconcilers),
       COALESCE(v.workload, ''), COALESCE(v.target, ''), COALESCE(v.version, '')
FROM branch b
JOIN source s ON s.branch_id = b.id
JOIN outcome o ON o.source_id = s.id
LEFT JOIN gitops_commit g ON g.branch_id = b.id AND g.sha = o.revision
LEFT JOIN version v ON v.branch_id = b.id AND v.path = s.path AND v.opened <= g.number AND v.closed > g.number;

-- name: countRegistrations
SELECT COUNT(*) FROM registration;

-- name: countMembers
SELECT m.cluster_type, 0, COUNT(*) FROM membership m JOIN registration g ON g.id = m.registration_id
WHERE m.environment = $1 AND g.at <= $2 AND g.until > $2 AND g.revoked = 0;

-- name: countMemberStates
-- From the reconcilers that follow the source to the memberships of their clusters; joined as in currentBySource.
SELECT m.cluster_type, o.state, COUNT(*)
FROM source s CROSS JOIN reconciler_state x CROSS JOIN outcome o CROSS JOIN reconciler r CROSS JOIN registration g CROSS JOIN membership m
WHERE s.id = (SELECT z.id FROM source z JOIN branch b ON b.id = z.branch_id WHERE b.repository = $2 AND b.ref = $3 AND z.path = $4)
  AND x.source_id = s.id AND o.id = x.outcome_id AND r.id = x.reconciler_id
  AND g.cluster_id = r.cluster_id AND g.until = 9223372036854775807 AND g.revoked = 0
  AND m.registration_id = g.id AND m.environment = $1;

-- name: listMemberStates
-- From sources to the clusters whose reconcilers follow them, joined as in currentBySource. The names of a state's clusters come as one
-- text, because returning that many rows takes databases longer than finding them. Names have no spaces.
SELECT b.repository, b.ref, s.path, o.state, string_agg(c.name, ' ')
FROM branch b CROSS JOIN source s CROSS JOIN reconciler_state x CROSS JOIN outcome o CROSS JOIN reconciler r CROSS JOIN cluster c
WHERE s.branch_id = b.id AND x.source_id = s.id AND o.id = x.outcome_id AND r.id = x.reconciler_id AND c.id = r.cluster_id;

-- name: lastReconciler
SELECT COALESCE(MAX(reconciler_id), 0) FROM reconciler_state;

-- name: listPast
-- A state that has not changed since $1 needs no lookup. All outcomes come as one text, because returning or grouping that many
-- rows takes databases longer than finding them. Reconcilers without an observation until $1 are left out.
SELECT COALESCE(string_agg(CAST(CASE WHEN x.since <= $1 THEN x.outcome_id ELSE (
    SELECT y.outcome_id FROM observation y WHERE y.reconciler_id = x.reconciler_id AND y.observed <= $1 ORDER BY y.observed DESC LIMIT 1
) END AS TEXT), ' '), '')
FROM reconciler_state x WHERE x.reconciler_id > $2 AND x.reconciler_id <= $3;

-- name: outcomeVersions
SELECT v.outcome_id, v.first_observed, v.state, v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built
FROM outcome_version v;

-- name: insertPromotion
INSERT INTO promotion (subject, commit_sha, environment) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: findPromotion
SELECT id FROM promotion WHERE subject = $1 AND commit_sha = $2 AND environment = $3;

-- name: insertStep
INSERT INTO promotion_step (promotion_id, at, kind, reason, by_whom, detail) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING;

-- name: selectSteps
SELECT p.subject, p.commit_sha, p.environment, s.kind, s.reason, s.by_whom, s.at, s.detail
FROM promotion_step s JOIN promotion p ON p.id = s.promotion_id;

-- name: insertChange
INSERT INTO change_event (repository, number, at, kind, branch, commit_sha, title, url, by_whom)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING;

-- name: selectChanges
SELECT repository, number, at, kind, branch, commit_sha, title, url, by_whom FROM change_event;

-- name: insertAudit
INSERT INTO audit (id, at, by_whom, action, subject, detail, address) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING;

-- name: selectAudit
SELECT at, by_whom, action, subject, detail, address FROM audit;

-- name: putToken
INSERT INTO token (id, hash, role, scope, description, by_whom, created, expires, revoked)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, role = excluded.role, scope = excluded.scope, description = excluded.description,
    by_whom = excluded.by_whom, created = excluded.created, expires = excluded.expires, revoked = excluded.revoked;

-- name: countTokens
SELECT COUNT(*) FROM token;

-- name: selectTokens
SELECT id, hash, role, scope, description, by_whom, created, expires, revoked FROM token;

-- name: insertSession
INSERT INTO ended_session (name, until) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: countSessions
SELECT COUNT(*) FROM ended_session WHERE name = $1;

-- name: currentBySource
-- Tables are joined by CROSS JOIN, starting with the most selective one: SQLite keeps this order, in which rows come
-- out of the indexes sorted; PostgreSQL chooses its own.
SELECT c.name, r.kind, r.namespace, r.name, b.repository, b.ref, s.path, b.environment, o.revision, o.state, o.message,
       o.applied, o.health, o.unhealthy, x.since, x.confirmed, x.received, s.id, x.reconciler_id
FROM source s CROSS JOIN reconciler_state x CROSS JOIN outcome o CROSS JOIN reconciler r CROSS JOIN cluster c CROSS JOIN branch b
WHERE b.id = s.branch_id AND x.source_id = s.id AND o.id = x.outcome_id AND r.id = x.reconciler_id AND c.id = r.cluster_id;

-- name: historyBySource
-- What the reconcilers reported that ever followed a branch: from the first observation of what was in force at $3, to the first one that
-- differs from what was in force before $4.
WITH own AS MATERIALIZED (
    SELECT DISTINCT f.reconciler_id FROM branch b JOIN source s ON s.branch_id = b.id JOIN follower f ON f.source_id = s.id
    WHERE b.repository = $1 AND b.ref = $2
), span AS MATERIALIZED (
    SELECT f.reconciler_id, COALESCE((
        SELECT y.observed FROM observation y WHERE y.reconciler_id = f.reconciler_id AND y.observed <= $3 AND y.outcome_id <> (
            SELECT z.outcome_id FROM observation z WHERE z.reconciler_id = f.reconciler_id AND z.observed <= $3 ORDER BY z.observed DESC LIMIT 1)
        ORDER BY y.observed DESC LIMIT 1), -1) AS after_time, COALESCE((
        SELECT y.observed FROM observation y WHERE y.reconciler_id = f.reconciler_id AND y.observed >= $4 AND y.outcome_id <> (
            SELECT z.outcome_id FROM observation z WHERE z.reconciler_id = f.reconciler_id AND z.observed < $4 ORDER BY z.observed DESC LIMIT 1)
        ORDER BY y.observed LIMIT 1), $4) AS until_time
    FROM own f
)
SELECT x.reconciler_id, x.observed, x.received, x.outcome_id
FROM span p CROSS JOIN observation x
WHERE x.reconciler_id = p.reconciler_id AND x.observed > p.after_time AND x.observed <= p.until_time
ORDER BY x.reconciler_id, x.observed;

-- name: reconcilersBySource
-- The reconcilers that ever followed a branch. forgotten is when their cluster was reset, if they did not report since; otherwise 0.
SELECT r.id, c.name, r.kind, r.namespace, r.name, CASE WHEN x.reconciler_id IS NULL THEN COALESCE(h.reset, 0) ELSE 0 END
FROM reconciler r
JOIN cluster c ON c.id = r.cluster_id
LEFT JOIN heartbeat h ON h.cluster_id = c.id
LEFT JOIN reconciler_state x ON x.reconciler_id = r.id
WHERE r.id IN (
    SELECT f.reconciler_id FROM branch b JOIN source s ON s.branch_id = b.id JOIN follower f ON f.source_id = s.id
    WHERE b.repository = $1 AND b.ref = $2)
ORDER BY c.name, r.kind, r.namespace, r.name;

-- name: lastCluster
SELECT COALESCE(MAX(id), 0) FROM cluster;

-- name: everyBySource
-- Joined as in currentBySource, without what states have in common.
SELECT c.name, r.kind, r.namespace, r.name, x.since, x.confirmed, x.received, x.outcome_id, x.source_id, x.reconciler_id
FROM source s CROSS JOIN reconciler_state x CROSS JOIN reconciler r CROSS JOIN cluster c
WHERE x.source_id = s.id AND r.id = x.reconciler_id AND c.id = r.cluster_id;

-- name: selectOutcomes
SELECT o.id, b.repository, b.ref, s.path, b.environment, o.revision, o.state, o.message, o.applied, o.health, o.unhealthy
FROM outcome o JOIN source s ON s.id = o.source_id JOIN branch b ON b.id = s.branch_id;

-- name: currentByCluster
-- Joined as in currentBySource, starting with the cluster.
SELECT c.name, r.kind, r.namespace, r.name, b.repository, b.ref, s.path, b.environment, o.revision, o.state, o.message,
       o.applied, o.health, o.unhealthy, x.since, x.confirmed, x.received, s.id, x.reconciler_id
FROM cluster c CROSS JOIN reconciler r CROSS JOIN reconciler_state x CROSS JOIN outcome o CROSS JOIN source s CROSS JOIN branch b
WHERE r.cluster_id = c.id AND x.reconciler_id = r.id AND o.id = x.outcome_id AND s.id = x.source_id AND b.id = s.branch_id;

-- name: pastBySource
-- The state at $1 is the newest observation until then, if it is of this source. Looking it up for each follower
-- is fast, however many observations exist.
SELECT c.name, r.kind, r.namespace, r.name, b.repository, b.ref, s.path, b.environment, o.revision, o.state, o.message,
       o.applied, o.health, o.unhealthy, (SELECT y.observed FROM observation y WHERE y.reconciler_id = x.reconciler_id AND y.observed <= $1 ORDER BY y.observed DESC LIMIT 1),
       0, 0, s.id, x.reconciler_id
FROM source s CROSS JOIN follower x CROSS JOIN outcome o CROSS JOIN reconciler r CROSS JOIN cluster c CROSS JOIN branch b
WHERE b.id = s.branch_id AND x.source_id = s.id AND o.source_id = s.id AND r.id = x.reconciler_id AND c.id = r.cluster_id
  AND o.id = (SELECT y.outcome_id FROM observation y WHERE y.reconciler_id = x.reconciler_id AND y.observed <= $1 ORDER BY y.observed DESC LIMIT 1);

-- name: selectFollowers
SELECT x.source_id, x.reconciler_id FROM source s JOIN follower x ON x.source_id = s.id;

-- name: selectDiscrepancies
SELECT discrepancy, cluster, environment, cluster_type, expected, kind, namespace, name, repository, ref, path, revision, state, message,
       applied, health, unhealthy, since, COALESCE(last_heard, 0)
FROM discrepancy WHERE environment = $1 ORDER BY cluster, kind, namespace, name;

-- name: pastVersions
-- Counts reconcilers, because the counts stored with outcomes are the current ones.
-- The conditions on v also replace the comment, so that only followers of sources with these versions are looked up.
SELECT v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built, v.state,
       SUM(n.reconcilers), MIN(v.first_observed)
FROM (SELECT p.outcome_id, p.source_id, COUNT(*) AS reconcilers
      FROM (SELECT x.source_id, (
                SELECT y.outcome_id FROM observation y
                WHERE y.reconciler_id = x.reconciler_id AND y.observed <= $1 ORDER BY y.observed DESC LIMIT 1) AS outcome_id
            FROM follower x WHERE x.source_id IN (
                SELECT s.id FROM version v JOIN source s ON s.branch_id = v.branch_id AND s.path = v.path WHERE /* conditions */)) p
      GROUP BY p.outcome_id, p.source_id) n
JOIN outcome_version v ON v.outcome_id = n.outcome_id AND v.source_id = n.source_id;

-- name: currentVersions
SELECT v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built, v.state, v.reconcilers, v.since
FROM current_workload v;

-- name: environmentNames
SELECT environment FROM branch WHERE environment <> ''
UNION SELECT environment FROM version WHERE environment <> ''
UNION SELECT environment FROM assignment WHERE environment <> ''
UNION SELECT environment FROM membership
UNION SELECT environment FROM promotion WHERE environment NOT LIKE '%/%' ORDER BY 1;

-- name: workloadNames
SELECT workload FROM version WHERE workload <> '' UNION SELECT workload FROM assignment WHERE workload <> '' ORDER BY 1;

-- name: countClusters
SELECT COUNT(*) FROM cluster;

-- name: clusterNames
SELECT name FROM cluster ORDER BY 1;

-- name: memberNames
SELECT c.name FROM cluster c JOIN registration g ON g.cluster_id = c.id AND g.at <= $1 AND g.until > $1;

-- name: insertReceiver
INSERT INTO receiver (name, since, read_until) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING;

-- name: deleteReceiver
DELETE FROM receiver WHERE name = $1;

-- name: abandonMessages
UPDATE message SET state = 'dead', finished = $2, error = $3 WHERE receiver = $1 AND state = 'pending';

-- name: insertMessage
INSERT INTO message (receiver, id, at, queued, due, attempts, state, finished, error, event)
VALUES ($1, $2, $3, $4, $4, 0, 'pending', 0, '', $5) ON CONFLICT DO NOTHING;

-- name: dropMessages
-- Keeps the newest $2 pending messages of a receiver.
UPDATE message SET state = 'dropped', finished = $3, error = $4
WHERE receiver = $1 AND state = 'pending' AND id IN (
    SELECT id FROM message WHERE receiver = $1 AND state = 'pending' ORDER BY at DESC, id DESC LIMIT 1000000000 OFFSET $2);

-- name: advanceReceivers
UPDATE receiver SET read_until = $1 WHERE read_until < $1;

-- name: dueMessage
SELECT id FROM message WHERE receiver = $1 AND state = 'pending' AND due <= $2 ORDER BY due, at, id LIMIT 1;

-- name: claimMessage
UPDATE message SET due = $3, attempts = attempts + 1 WHERE receiver = $1 AND id = $2;

-- name: finishMessage
-- A delivery counts in any case, another result only of the last claim.
UPDATE message SET state = $4, due = $5, finished = $6, error = $7
WHERE receiver = $1 AND id = $2 AND (state = 'pending' AND attempts = $3 OR $4 = 'delivered');

-- name: selectMessages
SELECT receiver, id, state, event, at, queued, due, attempts, finished, error FROM message;

-- name: selectReceivers
SELECT r.name, r.since, r.read_until,
       COALESCE((SELECT MIN(m.due) FROM message m WHERE m.receiver = r.name AND m.state = 'pending'), 0),
       (SELECT COUNT(*) FROM message m WHERE m.receiver = r.name AND m.state = 'pending'),
       (SELECT COUNT(*) FROM message m WHERE m.receiver = r.name AND m.state = 'delivered'),
       (SELECT COUNT(*) FROM message m WHERE m.receiver = r.name AND m.state = 'dead'),
       (SELECT COUNT(*) FROM message m WHERE m.receiver = r.name AND m.state = 'dropped'),
       COALESCE((SELECT m.error FROM message m WHERE m.receiver = r.name AND m.error <> '' ORDER BY m.at DESC, m.id DESC LIMIT 1), '')
FROM receiver r;

-- name: deleteMessages
DELETE FROM message WHERE state <> 'pending' AND at < $1;

-- name: expireReplicas
-- Deleting the row ends the holds of a replica.
DELETE FROM replica WHERE expires <= $1;

-- name: replaceReplica
DELETE FROM replica WHERE name = $1;

-- name: selectReplicas
SELECT id, name, alone, joined FROM replica;

-- name: insertReplica
INSERT INTO replica (id, name, alone, joined, expires) VALUES ($1, $2, $3, $4, $5);

-- name: renewReplica
UPDATE replica SET expires = $2 WHERE id = $1;

-- name: deleteReplica
DELETE FROM replica WHERE id = $1;

-- name: insertUnit
INSERT INTO work_unit (name, replica, number, result) VALUES ($1, '', 0, '') ON CONFLICT DO NOTHING;

-- name: findUnit
SELECT replica, number FROM work_unit WHERE name = $1;

-- name: takeUnit
UPDATE work_unit SET replica = $2, number = $3 WHERE name = $1;

-- name: yieldUnit
UPDATE work_unit SET replica = '' WHERE name = $1 AND replica = $2 AND number = $3;

-- name: selectHolds
SELECT u.name, u.replica, u.number FROM work_unit u JOIN replica r ON r.id = u.replica ORDER BY u.name;

-- name: putResult
UPDATE work_unit SET result = $2 WHERE name = $1;

-- name: selectResult
SELECT result FROM work_unit WHERE name = $1 AND result <> '';

-- name: lastNote
SELECT COALESCE(MAX(number), 0) FROM note;

-- name: insertNote
INSERT INTO note (number, at, replica, text) VALUES ($1, $2, $3, $4);

-- name: deleteNotes
-- The last note stays, so that numbers only grow.
DELETE FROM note WHERE at < $1 AND number < $2;

-- name: selectNotes
SELECT number, replica, text FROM note WHERE number > $1 ORDER BY number;

-- name: insertSecret
INSERT INTO shared_secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: findSecret
SELECT value FROM shared_secret WHERE name = $1;

-- name: nextNumber
INSERT INTO counter (name, number) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET number = CASE WHEN excluded.number > counter.number THEN excluded.number ELSE counter.number + 1 END
RETURNING number;
