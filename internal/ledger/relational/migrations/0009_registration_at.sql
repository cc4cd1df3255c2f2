-- The newest registrations are read first, and those of one time in the order of their clusters.
CREATE INDEX registration_at ON registration (at DESC, cluster_id);
