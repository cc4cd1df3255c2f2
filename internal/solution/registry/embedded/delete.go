package embedded

import (
	"context"
	"database/sql"
	"net/http"
	"os"
	"slices"

	"github.com/kalypso-io/kalypso/internal/solution"
)

// deleteManifest deletes a manifest with its tags. Its blobs are removed with the next cleaning, if no other manifest has them.
func (s *Registry) deleteManifest(ctx context.Context, w http.ResponseWriter, q request) error {
	if !digestForm.MatchString(q.reference) {
		return refuse(http.StatusMethodNotAllowed, unsupported, "a tag cannot be deleted: delete the manifest, by its digest")
	}
	s.files.Lock()
	defer s.files.Unlock()
	if err := s.delete(ctx, q.repository, q.reference, func() error { return s.o.Record(ctx, Delete, subject(q), q.reference) }); err != nil {
		return err
	}
	s.o.Log.Info("deleted an artifact", "repository", q.repository, "digest", q.reference, "by", q.client)
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// delete deletes a manifest, unless something needs it. The caller holds files. record is called before.
func (s *Registry) delete(ctx context.Context, repository, digest string, record func() error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it has no effect after a commit
	m, err := s.find(ctx, tx, repository, digest)
	if err != nil {
		return err
	}
	tags, err := tagsOf(ctx, tx, m)
	if err != nil {
		return err
	}
	why, err := s.needs(m, tags)
	if err != nil {
		return err
	}
	if why != "" {
		return refuse(http.StatusConflict, denied, "%s is not deleted: %s", digest, why)
	}
	if err := record(); err != nil {
		return err
	}
	for _, statement := range []string{"deleteTags", "deleteParts", "deleteManifest"} {
		if _, err := tx.ExecContext(ctx, queries.Get(statement), m.id); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.release(int64(len(tags)) * tagCost)
	return nil
}

func tagsOf(ctx context.Context, tx *sql.Tx, m stored) (tags []string, err error) {
	rows, err := tx.QueryContext(ctx, queries.Get("selectTagsOf"), m.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	for rows.Next() {
		var tag string
		if err := rows.Scan(&tag); err != nil {
			return nil, err
		}
		tags = append(tags, tag)
	}
	return tags, rows.Err()
}

// needs returns why a manifest is needed; empty if it is not.
func (s *Registry) needs(m stored, tags []string) (why string, err error) {
	if m.environment == "" {
		return "", nil // it is no solution version
	}
	if slices.Contains(tags, m.environment) {
		return "it is what the environment " + m.environment + " has; publish another version first", nil
	}
	if m.application == "" || s.o.Needed == nil {
		return "", nil // targets of the platform are not pinned
	}
	text, err := os.ReadFile(s.blobFile(m.digest))
	if err != nil {
		return "", err
	}
	config, _, err := solution.ReadManifest(text)
	if err != nil {
		return "", err
	}
	if text, err = os.ReadFile(s.blobFile(config.Digest.String())); err != nil {
		return "", err
	}
	d, err := solution.ReadDescriptor(text)
	if err != nil {
		return "", err
	}
	return s.o.Needed(d), nil
}

// deleteUnnamed deletes manifests that have no tag, and no subject in their repository. What refers to one of them follows with the next cleaning.
func (s *Registry) deleteUnnamed(ctx context.Context) error {
	for last := int64(0); ; {
		next, err := s.deleteUnnamedAfter(ctx, last)
		if err != nil || next == last {
			return err
		}
		last = next
	}
}

// deleteUnnamedAfter deletes some, beginning after a number, and returns the number of the last one that it looked at.
func (s *Registry) deleteUnnamedAfter(ctx context.Context, last int64) (int64, error) {
	s.files.Lock()
	defer s.files.Unlock()
	type artifact struct{ repository, digest string }
	var old []artifact
	err := s.each(ctx, func(scan func(...any) error) error {
		var a artifact
		err := scan(&last, &a.repository, &a.digest)
		old = append(old, a)
		return err
	}, "selectUnnamed", s.o.Now().Add(-unnamed).Unix(), last)
	if err != nil {
		return last, err
	}
	for _, a := range old {
		switch err := s.delete(ctx, a.repository, a.digest, func() error { return nil }); {
		case err == nil:
			s.o.Log.Info("removed an artifact that nothing names", "repository", a.repository, "digest", a.digest)
		case ctx.Err() != nil:
			return last, err
		default:
			s.o.Log.Info("kept an artifact that nothing names", "repository", a.repository, "digest", a.digest, "reason", err)
		}
	}
	return last, nil
}
