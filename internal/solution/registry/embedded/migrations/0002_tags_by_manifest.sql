-- Deleting a manifest deletes its tags.

CREATE INDEX tag_manifest ON tag (manifest);
