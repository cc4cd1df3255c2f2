-- Digests are "sha256:" with 64 digits. Times are seconds since 1970.

CREATE TABLE blob (
    digest    TEXT    NOT NULL PRIMARY KEY,
    size      INTEGER NOT NULL,
    stored_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE manifest (
    id            INTEGER PRIMARY KEY,
    repository    TEXT    NOT NULL,
    digest        TEXT    NOT NULL REFERENCES blob (digest),
    size          INTEGER NOT NULL,
    artifact_type TEXT    NOT NULL,
    -- The digest of the manifest that it refers to; '' for none.
    subject       TEXT    NOT NULL,
    -- JSON.
    annotations   TEXT    NOT NULL,
    -- Those of a solution version, otherwise ''.
    application   TEXT    NOT NULL,
    environment   TEXT    NOT NULL,
    UNIQUE (repository, digest)
) STRICT;

CREATE INDEX manifest_subject ON manifest (repository, subject, digest) WHERE subject <> '';
CREATE INDEX manifest_digest ON manifest (digest);

-- What a manifest needs: its own bytes, its configuration and its layers.
CREATE TABLE part (
    manifest INTEGER NOT NULL REFERENCES manifest (id),
    digest   TEXT    NOT NULL REFERENCES blob (digest),
    PRIMARY KEY (manifest, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX part_digest ON part (digest);

CREATE TABLE tag (
    repository TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    manifest   INTEGER NOT NULL REFERENCES manifest (id),
    PRIMARY KEY (repository, name)
) STRICT, WITHOUT ROWID;
