-- Environments may share a branch, which is of none then (branch.environment is ''): its assignments say whose they are.
ALTER TABLE assignment ADD COLUMN environment TEXT NOT NULL DEFAULT '';
CREATE INDEX assignment_environment ON assignment (environment) WHERE environment <> '';
CREATE INDEX version_environment ON version (environment);

-- What should run where, by the heads of platform branches.
DROP VIEW wanted_assignment;
CREATE VIEW wanted_assignment AS
SELECT COALESCE(NULLIF(a.environment, ''), b.environment) AS environment, b.repository, b.ref, a.cluster_type, a.target, a.workload, a.workspace
FROM branch b
JOIN assignment a ON a.branch_id = b.id AND a.opened <= b.head AND a.closed > b.head;
