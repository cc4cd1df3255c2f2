-- Times in which clusters were not heard for longer than they should be. They are stored when a cluster is heard again.
CREATE TABLE silence (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id),
    from_time  INTEGER NOT NULL, -- when it was last heard before
    to_time    INTEGER NOT NULL, -- when it was heard again
    PRIMARY KEY (cluster_id, from_time)
) STRICT, WITHOUT ROWID;
CREATE INDEX silence_to ON silence (to_time);

-- What servers that share this ledger have set: "silence SUBJECT" is how short the silences are that the promotion of a subject needs, in microseconds.
CREATE TABLE setting (
    name  TEXT   PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When a cluster was last heard before it was reset, if it was not heard since, and when it was reset; 0 for never.
ALTER TABLE heartbeat ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
ALTER TABLE heartbeat ADD COLUMN reset INTEGER NOT NULL DEFAULT 0;
