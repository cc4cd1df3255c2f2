-- Times are microseconds since 1970, in UTC; 0 means never. Commits are full hashes; '' means none.

CREATE TABLE repository (
    id          INTEGER PRIMARY KEY,
    owner       TEXT    NOT NULL COLLATE NOCASE,
    name        TEXT    NOT NULL COLLATE NOCASE,
    description TEXT    NOT NULL DEFAULT '',
    private     INTEGER NOT NULL DEFAULT 0,
    -- Changes and issues count together; this is the last number given.
    numbers     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, name)
) STRICT;

CREATE TABLE change (
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
    -- A merge is written down before the branch moves: if the process dies in between, the branch tells what happened.
    merging      TEXT    NOT NULL DEFAULT '',
    merging_by   TEXT    NOT NULL DEFAULT '',
    -- A merge that waits for checks and approvals, as JSON.
    auto_merge   TEXT    NOT NULL DEFAULT '',
    auto_by      TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (repository, number)
) STRICT, WITHOUT ROWID;

-- One living change from a branch to another.
CREATE UNIQUE INDEX change_living ON change (repository, head, base) WHERE state = 'open';
CREATE INDEX change_head ON change (repository, head, number);

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

-- The labels of changes and issues, which have no numbers in common.
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
    -- An approval is of a commit; it does not hold for the next.
    commit_id  TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (repository, number, account)
) STRICT, WITHOUT ROWID;

CREATE TABLE protection (
    repository   INTEGER NOT NULL REFERENCES repository (id),
    branch       TEXT    NOT NULL,
    changes_only INTEGER NOT NULL,
    approvals    INTEGER NOT NULL,
    code_owners  INTEGER NOT NULL,
    checks       TEXT    NOT NULL, -- a JSON list
    PRIMARY KEY (repository, branch)
) STRICT, WITHOUT ROWID;

CREATE TABLE hook (
    repository INTEGER NOT NULL REFERENCES repository (id),
    url        TEXT    NOT NULL,
    -- The key that deliveries are signed with; it has to be known as it is.
    secret     TEXT    NOT NULL,
    PRIMARY KEY (repository, url)
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id         INTEGER PRIMARY KEY,
    account    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    rights     TEXT    NOT NULL CHECK (rights IN ('read', 'write', 'admin')),
    below      TEXT    NOT NULL,
    -- SHA-256 of a random token: nothing to guess, so that no slow hash is needed.
    hash       BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE session (
    hash       BLOB    NOT NULL PRIMARY KEY,
    token      INTEGER NOT NULL REFERENCES token (id),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
