-- Statements of the embedded forge.

-- name: deleteAnnotations
DELETE FROM annotation WHERE repository = ? AND number = ? AND account = ? AND name = ?;

-- name: insertAnnotation
INSERT INTO annotation (repository, number, account, name, position, file, line, level, title, message, hint, more)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: selectAnnotations
SELECT file, line, level, title, message, hint, more FROM annotation WHERE repository = ? AND number = ?
    ORDER BY account, name, position;

-- name: selectProtection
SELECT pull_requests_only, approvals, code_owners, checks FROM protection WHERE repository = ? AND branch = ?;

-- name: replaceProtection
INSERT OR REPLACE INTO protection (repository, branch, pull_requests_only, approvals, code_owners, checks) VALUES (?, ?, ?, ?, ?, ?);

-- name: deleteProtection
DELETE FROM protection WHERE repository = ? AND branch = ?;

-- name: selectComments
SELECT id, author, body, created_at FROM comment WHERE repository = ? AND number = ? ORDER BY id;

-- name: insertComment
INSERT INTO comment (repository, number, author, body, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id;

-- name: updateComment
UPDATE comment SET body = ? WHERE id = ?;

-- name: upsertHook
INSERT INTO hook (repository, url, secret) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET secret = excluded.secret;

-- name: selectHooks
SELECT url, secret FROM hook WHERE repository = ?;

-- name: selectPlace
SELECT base, head_commit FROM pull_request WHERE repository = ? AND number = ?;

-- name: selectIssueNumbered
SELECT number, title, body, state, author FROM issue WHERE repository = ? AND number = ?;

-- name: selectIssues
SELECT number, title, body, state, author FROM issue WHERE repository = ?1 AND (?2 = '' OR state = ?2) ORDER BY number DESC;

-- name: insertIssue
INSERT INTO issue (repository, number, title, body, state, author, created_at) VALUES (?, ?, ?, ?, 'open', ?, ?);

-- name: updateIssue
UPDATE issue SET title = ?, body = ?, state = ? WHERE repository = ? AND number = ?;

-- name: insertLabel
INSERT INTO label (repository, name, color, description) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: selectLabel
SELECT name FROM label WHERE repository = ? AND name = ?;

-- name: selectLabels
SELECT name, color, description FROM label WHERE repository = ? ORDER BY name;

-- name: insertLabeled
INSERT INTO labeled (repository, number, label, account, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: deleteLabeled
DELETE FROM labeled WHERE repository = ? AND number = ? AND label = ?;

-- name: selectLabeler
SELECT account FROM labeled WHERE repository = ? AND number = ? AND label = ?;

-- name: startMerge
UPDATE pull_request SET merging = ?, merging_by = ? WHERE repository = ? AND number = ?;

-- name: setAuto
UPDATE pull_request SET auto_merge = ?, auto_by = ? WHERE repository = ? AND number = ?;

-- name: countOpen
SELECT (SELECT count(*) FROM pull_request WHERE repository = ?1 AND state = 'open'),
    (SELECT count(*) FROM issue WHERE repository = ?1 AND state = 'open');

-- name: insertPullRequest
INSERT INTO pull_request (repository, number, title, body, state, draft, author, created_at, head, head_commit, base)
    VALUES (?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?);

-- name: updatePullRequest
UPDATE pull_request SET title = ?, body = ?, base = ?, state = ?, ended_by = ?, ended_at = ?, head_commit = ?,
    auto_merge = '', auto_by = '' WHERE repository = ? AND number = ?;

-- name: updatePullRequestText
UPDATE pull_request SET title = ?, body = ? WHERE repository = ? AND number = ?;

-- name: setReady
UPDATE pull_request SET draft = 0 WHERE repository = ? AND number = ?;

-- name: selectOpenBetween
SELECT number FROM pull_request WHERE repository = ? AND head = ? AND base = ? AND state = 'open' AND number <> ?;

-- name: selectPullRequestNumbered
SELECT number, title, body, state, draft, author, created_at, ended_by, ended_at,
    head, head_commit, base, merge_commit, merging, merging_by, auto_merge, auto_by FROM pull_request WHERE repository = ? AND number = ?;

-- name: selectOpenPullRequests
SELECT number, title, body, state, draft, author, created_at, ended_by, ended_at,
    head, head_commit, base, merge_commit, merging, merging_by, auto_merge, auto_by FROM pull_request WHERE repository = ? AND state = 'open' ORDER BY number;

-- name: selectPullRequests
-- A limit of -1 means no limit.
SELECT number, title, body, state, draft, author, created_at, ended_by, ended_at,
    head, head_commit, base, merge_commit, merging, merging_by, auto_merge, auto_by FROM pull_request WHERE repository = ?1 AND (?2 = '' OR state = ?2) AND (?3 = '' OR base = ?3) ORDER BY number DESC LIMIT ?4;

-- name: selectPullRequestsFrom
-- SQLite needs a hint to use the index for the pull requests of a head.
SELECT number, title, body, state, draft, author, created_at, ended_by, ended_at,
    head, head_commit, base, merge_commit, merging, merging_by, auto_merge, auto_by FROM pull_request INDEXED BY pull_request_head WHERE repository = ?1 AND (?2 = '' OR state = ?2) AND (?3 = '' OR base = ?3)
    AND head = ?5 ORDER BY number DESC LIMIT ?4;

-- name: selectLabeled
-- The labels of a range of numbers are read at once.
SELECT number, labeled.label FROM labeled WHERE repository = ? AND number BETWEEN ? AND ? ORDER BY number, label;

-- name: selectRepositoryAt
SELECT id, owner, name, description, private FROM repository WHERE owner = ? AND name = ?;

-- name: selectRepositories
SELECT id, owner, name, description, private FROM repository ORDER BY owner, name;

-- name: insertRepository
INSERT INTO repository (owner, name, description, private) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id;

-- name: nextNumber
UPDATE repository SET numbers = numbers + 1 WHERE id = ? RETURNING numbers;

-- name: upsertApproval
INSERT OR REPLACE INTO approval (repository, number, account, commit_id, at) VALUES (?, ?, ?, ?, ?);

-- name: selectReviews
SELECT account, commit_id, at FROM approval WHERE repository = ? AND number = ? ORDER BY at, account LIMIT ?;

-- name: selectApprovals
SELECT account FROM approval WHERE repository = ? AND number = ? AND commit_id = ? ORDER BY account;

-- name: insertSession
INSERT INTO session (hash, token, expires_at) VALUES (?, ?, ?);

-- name: deleteSession
DELETE FROM session WHERE hash = ? OR expires_at < ?;

-- name: selectSession
SELECT account, rights, below FROM session JOIN token ON token.id = session.token
    WHERE session.hash = ? AND expires_at > ? AND revoked_at = 0;

-- name: upsertStatus
INSERT INTO status (repository, commit_id, context, state, description, url, required, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET state = excluded.state, description = excluded.description, url = excluded.url,
    required = excluded.required, at = excluded.at;

-- name: selectStatuses
SELECT context, state, description, url, required, at FROM status WHERE repository = ? AND commit_id = ? ORDER BY context;

-- name: moveHead
UPDATE pull_request SET head_commit = ?, auto_merge = '', auto_by = '' WHERE repository = ? AND number = ?;

-- name: setEnded
UPDATE pull_request SET state = 'merged', merge_commit = ?, ended_by = ?, ended_at = ?, merging = '', merging_by = '',
    auto_merge = '', auto_by = '' WHERE repository = ? AND number = ?;

-- name: setClosed
UPDATE pull_request SET state = 'closed', ended_by = ?, ended_at = ?, auto_merge = '', auto_by = '' WHERE repository = ? AND number = ?;

-- name: forgetMerge
UPDATE pull_request SET merging = '', merging_by = '' WHERE repository = ? AND number = ?;

-- name: insertToken
INSERT INTO token (account, name, rights, below, hash, created_at) VALUES (?, ?, ?, ?, ?, ?) RETURNING id;

-- name: selectTokens
SELECT id, name, account, rights, below, created_at, revoked_at FROM token ORDER BY id;

-- name: selectToken
SELECT id, name, account, rights, below, created_at, revoked_at FROM token WHERE hash = ? AND revoked_at = 0;

-- name: revokeToken
UPDATE token SET revoked_at = ? WHERE id = ? AND revoked_at = 0;

-- name: endSessionsOfToken
DELETE FROM session WHERE token = ?;
