-- Statements of the embedded registry.

-- name: selectBlobs
SELECT digest, size FROM blob;

-- name: selectBlob
SELECT size FROM blob WHERE digest = ?;

-- name: upsertBlob
INSERT INTO blob (digest, size, stored_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET size = ?2, stored_at = ?3;

-- name: touchBlob
UPDATE blob SET stored_at = ? WHERE digest = ?;

-- name: deleteUnreferenced
DELETE FROM blob WHERE stored_at < ? AND NOT EXISTS (SELECT 1 FROM part WHERE part.digest = blob.digest) RETURNING digest, size;

-- name: countTags
SELECT count(*) FROM tag;

-- name: selectByTag
SELECT m.id, m.digest, m.media_type, m.application, m.environment FROM tag t JOIN manifest m ON m.id = t.manifest WHERE t.repository = ? AND t.name = ?;

-- name: selectByDigest
SELECT id, digest, media_type, application, environment FROM manifest WHERE repository = ? AND digest = ?;

-- name: selectRepository
SELECT 1 FROM manifest WHERE repository = ? LIMIT 1;

-- name: insertManifest
INSERT INTO manifest (repository, digest, size, media_type, artifact_type, subject, annotations, application, environment) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id;

-- name: insertPart
INSERT INTO part (manifest, digest) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: upsertTag
INSERT INTO tag (repository, name, manifest) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET manifest = ?3;

-- name: selectTags
SELECT name FROM tag WHERE repository = ? AND name > ? ORDER BY name LIMIT ?;

-- name: countReferrers
SELECT count(*) FROM manifest WHERE repository = ? AND subject = ? AND subject <> '';

-- name: selectReferrers
SELECT digest, size, media_type, artifact_type, annotations FROM manifest WHERE repository = ?1 AND subject = ?2 AND subject <> ''
    AND (?3 = '' OR artifact_type = ?3) ORDER BY digest;

-- name: selectTagsOf
SELECT name FROM tag WHERE manifest = ? ORDER BY name;

-- name: deleteTags
DELETE FROM tag WHERE manifest = ?;

-- name: deleteParts
DELETE FROM part WHERE manifest = ?;

-- name: deleteManifest
DELETE FROM manifest WHERE id = ?;

-- name: selectUnnamed
SELECT m.id, m.repository, m.digest FROM manifest m JOIN blob b ON b.digest = m.digest
    WHERE b.stored_at < ?1 AND m.id > ?2
    AND NOT EXISTS (SELECT 1 FROM tag t WHERE t.manifest = m.id)
    AND NOT EXISTS (SELECT 1 FROM manifest s WHERE s.repository = m.repository AND s.digest = m.subject)
    AND NOT EXISTS (SELECT 1 FROM part p JOIN manifest i ON i.id = p.manifest WHERE p.digest = m.digest AND i.id <> m.id AND i.repository = m.repository)
    ORDER BY m.id LIMIT 100;
