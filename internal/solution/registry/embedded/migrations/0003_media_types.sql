-- Indexes beside image manifests.

ALTER TABLE manifest ADD COLUMN media_type TEXT NOT NULL DEFAULT 'application/vnd.oci.image.manifest.v1+json';
