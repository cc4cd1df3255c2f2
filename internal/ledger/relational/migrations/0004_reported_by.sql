-- The cluster whose credential reports for a cluster, or '' if the cluster has a credential of its own.
ALTER TABLE registration ADD COLUMN reported_by TEXT NOT NULL DEFAULT '';
