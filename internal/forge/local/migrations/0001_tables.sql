-- Times are microseconds since 1970, in UTC; 0 means never. Commits are full hashes; '' means none.

CREATE TABLE repository (
    id          INTEGER PRIMARY KEY,
    owner       TEXT    NOT NULL COLLATE NOCASE,
    name        TEXT    NOT NULL COLLATE NOCASE,
    description TEXT    NOT NULL DEFAULT '',
    private     INTEGER NOT NULL DEFAULT 0,
    -- The last number given; pull requests and issues share them.
    numbers     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, name)
) STRICT;

CREATE TABLE pull_request (
    repository   INTEGER NOT NULL REFERENCES repository (id),
    number       INTEGER NOT NULL,
    title        TEXT    NOT NULL,
    body         TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
    draft        INTEGER NOT NULL,
    author       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    ended_by     TEXT    NOT NULL DEFAULT '',
    ended_at     INTEGER NOT NULL DEFAULT 0,
    head         TEXT    NOT NULL,
    head_commit  TEXT    NOT NULL,
    base         TEXT    NOT NULL,
    merge_commit TEXT    NOT NULL DEFAULT '',
    -- Set before the branch moves, so that after a crash the branch tells whether the merge happened.
    merging      TEXT    NOT NULL DEFAULT '',
    merging_by   TEXT    NOT NULL DEFAULT '',
    -- The merge that waits for checks and approvals, as JSON.
    auto_merge   TEXT    NOT NULL DEFAULT '',
    auto_by      TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (repository, number)
) STRICT, WITHOUT ROWID;

-- One open pull request from a branch to another.
CREATE UNIQUE INDEX pull_request_open ON pull_request (repository, head, base) WHERE state = 'open';
CREATE INDEX pull_request_head ON pull_request (repository, head, number);

CREATE TABLE issue (
    repository INTEGER NOT NULL REFERENCES repository (id),
    number     INTEGER NOT NULL,
    title      TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('open', 'closed')),
    author     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (repository, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE label (
    repository  INTEGER NOT NULL REFERENCES repository (id),
    name        TEXT    NOT NULL COLLATE NOCASE,
    color       TEXT    NOT NULL,
    description TEXT    NOT NULL,
    PRIMARY KEY (repository, name)
) STRICT, WITHOUT ROWID;

-- Labels of pull requests and issues.
CREATE TABLE labeled (
    repository INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    label      TEXT    NOT NULL COLLATE NOCASE,
    account    TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (repository, number, label),
    FOREIGN KEY (repository, label) REFERENCES label (repository, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE comment (
    id         INTEGER PRIMARY KEY,
    repository INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    author     TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX comment_of ON comment (repository, number, id);

CREATE TABLE status (
    repository  INTEGER NOT NULL REFERENCES repository (id),
    commit_id   TEXT    NOT NULL,
    context     TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    description TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (repository, commit_id, context)
) STRICT, WITHOUT ROWID;

CREATE TABLE approval (
    repository INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    account    TEXT    NOT NULL,
    -- An approval applies to this commit only.
    commit_id  TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (repository, number, account)
) STRICT, WITHOUT ROWID;

CREATE TABLE protection (
    repository   INTEGER NOT NULL REFERENCES repository (id),
    branch       TEXT    NOT NULL,
    pull_requests_only INTEGER NOT NULL,
    approvals    INTEGER NOT NULL,
    code_owners  INTEGER NOT NULL,
    checks       TEXT    NOT NULL, -- a JSON list
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;

CREATE TABLE hook (
    repository INTEGER NOT NULL REFERENCES repository (id),
    url        TEXT    NOT NULL,
    -- Signs deliveries, so that it is stored in plain text.
    secret     TEXT    NOT NULL,
    PRIMARY KEY (repository, url)
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id         INTEGER PRIMARY KEY,
    account    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    rights     TEXT    NOT NULL CHECK (rights IN ('read', 'write', 'admin')),
    below      TEXT    NOT NULL, -- a path; '' is all repositories
    -- SHA-256: tokens are random, so that they need no slow hash.
    hash       BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE session (
    hash       BLOB    NOT NULL PRIMARY KEY,
    token      INTEGER NOT NULL REFERENCES token (id),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Annotations of pull requests. Those of an account and name are replaced together.
CREATE TABLE annotation (
    repository INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    account    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    position   INTEGER NOT NULL,
    file       TEXT    NOT NULL,
    line       INTEGER NOT NULL, -- 0 means the whole file
    level      TEXT    NOT NULL CHECK (level IN ('refusal', 'warning', 'notice')),
    title      TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    hint       TEXT    NOT NULL,
    more       INTEGER NOT NULL, -- how many annotations were dropped
    PRIMARY KEY (repository, number, account, name, position)
) STRICT, WITHOUT ROWID;
