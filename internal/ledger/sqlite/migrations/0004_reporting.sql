-- What the files of a cluster are checked with that are carried by hand: PKIX as PEM, or ''.
ALTER TABLE registration ADD COLUMN public_key TEXT NOT NULL DEFAULT '';

-- How wrong the clock of a cluster is, from a time of it on; only clocks that were ever known to be wrong.
CREATE TABLE clock (
    cluster_id INTEGER NOT NULL REFERENCES cluster (id),
    -- When we found out.
    noted      INTEGER NOT NULL,
    -- By the clock of the cluster.
    from_time  INTEGER NOT NULL,
    -- Microseconds to be added to a time of the cluster.
    correction INTEGER NOT NULL,
    PRIMARY KEY (cluster_id, noted)
) STRICT, WITHOUT ROWID;
