-- The servers that share this ledger. Times are of the database's clock.
CREATE TABLE replica (
    id      TEXT   PRIMARY KEY, -- of one run
    name    TEXT   NOT NULL,
    alone   BIGINT NOT NULL, -- 1 if it cannot work with others
    joined  BIGINT NOT NULL,
    expires BIGINT NOT NULL -- of its lease
);

-- What one replica works on at a time. It has the unit while its row above is there.
CREATE TABLE work_unit (
    name    TEXT   PRIMARY KEY,
    replica TEXT   NOT NULL, -- empty if none has it
    number  BIGINT NOT NULL, -- grows with each change of the replica
    result  TEXT   NOT NULL  -- of the last round, as JSON
);

-- Notes from one replica to all others, by a number without gaps in time: one writer at a time gives them out.
CREATE TABLE note (
    number  BIGINT PRIMARY KEY,
    at      BIGINT NOT NULL,
    replica TEXT   NOT NULL,
    text    TEXT   NOT NULL
);
CREATE INDEX note_at ON note (at);

-- Secrets that replicas share: the key of sessions, for example.
CREATE TABLE shared_secret (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
