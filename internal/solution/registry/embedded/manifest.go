package embedded

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/kalypso-io/kalypso/internal/solution"
)

const (
	// MaxManifest is the size of a manifest or index, in bytes.
	MaxManifest = 4 << 20
	// smallManifest is the size from which on only maxLarge are received at the same time, because they are in memory.
	smallManifest = 256 << 10
	maxLarge      = 8
	// maxValues limits what reading a manifest takes: its values in maps and lists.
	maxValues = 20_000

	maxParts = 128 // layers of a manifest, or manifests of an index
	// maxType and maxAnnotations limit what lists of referrers repeat, in bytes.
	maxType        = 255
	maxAnnotations = 16 << 10
	// maxReferrers limits the manifests that refer to one, such as its attestations.
	maxReferrers = 256
	// maxTags is how many tags one answer has.
	maxTags = 1000
)

// stored is a manifest of the database.
type stored struct {
	id                                          int64
	digest, mediaType, application, environment string
}

// find returns the manifest that a tag or digest names.
func (s *Registry) find(ctx context.Context, q querier, repository, reference string) (stored, error) {
	query := "selectByTag"
	if digestForm.MatchString(reference) {
		query = "selectByDigest"
	}
	var m stored
	err := q.QueryRowContext(ctx, queries.Get(query), repository, reference).Scan(&m.id, &m.digest, &m.mediaType, &m.application, &m.environment)
	if errors.Is(err, sql.ErrNoRows) {
		return m, refuse(http.StatusNotFound, unknown, "%s has no manifest %s", repository, reference)
	}
	return m, err
}

// manifest is what a client pushes: an image manifest, or an index of manifests.
type manifest struct {
	ocispec.Manifest
	// Manifests are those of an index.
	Manifests []ocispec.Descriptor `json:"manifests,omitempty"`

	text              []byte
	digest, mediaType string
	// application and environment are those of a solution version.
	application, environment string
}

func (m *manifest) isIndex() bool { return m.mediaType == ocispec.MediaTypeImageIndex }

// parts are the blobs or, of an index, the manifests that it needs.
func (m *manifest) parts() []ocispec.Descriptor {
	if m.isIndex() {
		return m.Manifests
	}
	return append([]ocispec.Descriptor{m.Config}, m.Layers...)
}

// readManifest checks everything that needs nothing else.
func readManifest(r *http.Request, q request) (*manifest, error) {
	invalid := func(format string, args ...any) error {
		return refuse(http.StatusBadRequest, "MANIFEST_INVALID", format, args...)
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != ocispec.MediaTypeImageManifest && mediaType != ocispec.MediaTypeImageIndex {
		return nil, invalid("this registry has only manifests of the types %s and %s", ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex)
	}
	text, err := readText(r)
	if err != nil {
		return nil, err
	}
	m := &manifest{text: text, digest: digest.FromBytes(text).String(), mediaType: mediaType}
	if digestForm.MatchString(q.reference) && q.reference != m.digest {
		return nil, refuse(http.StatusBadRequest, "DIGEST_INVALID", "the manifest has the digest %s", m.digest)
	}
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("["))+bytes.Count(text, []byte(",")) > maxValues {
		return nil, invalid("it has more than %d values", maxValues)
	}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, invalid("it is not a manifest in JSON")
	}
	if m.SchemaVersion != 2 || m.MediaType != "" && m.MediaType != mediaType {
		return nil, invalid("its mediaType has to be %s, with the schemaVersion 2", mediaType)
	}
	if m.isIndex() && (m.Config.Digest != "" || len(m.Layers) > 0) || !m.isIndex() && len(m.Manifests) > 0 {
		return nil, invalid("it has manifests, and config or layers: it is either an index or a manifest")
	}
	return m, m.check(invalid)
}

// readText reads a manifest.
func readText(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body{r.Body}, MaxManifest+1))
	if err == nil && len(text) > MaxManifest {
		err = refuse(http.StatusRequestEntityTooLarge, "SIZE_INVALID", "the manifest has more than %d bytes", MaxManifest)
	}
	return text, err
}

// check checks the limits of a manifest, and its digests.
func (m *manifest) check(invalid func(format string, args ...any) error) error {
	if len(m.Layers) > maxParts || len(m.Manifests) > maxParts {
		return invalid("it has more than %d layers or manifests", maxParts)
	}
	if len(m.kind()) > maxType {
		return invalid("its type has more than %d bytes", maxType)
	}
	if m.isIndex() && m.ArtifactType == solution.ArtifactType {
		return invalid("a solution version is an image manifest, and not an index")
	}
	size := 0
	for key, value := range m.Annotations {
		size += len(key) + len(value)
	}
	if m.Subject != nil && size > maxAnnotations {
		return invalid("its annotations have more than %d bytes, and it has a subject, whose list of referrers has them, too", maxAnnotations)
	}
	all := m.parts()
	if m.Subject != nil {
		all = append(all, *m.Subject)
	}
	for _, d := range all {
		if !digestForm.MatchString(d.Digest.String()) || d.Size < 0 {
			return invalid("%.100q is not a digest with sha256", d.Digest)
		}
	}
	return nil
}

// kind is the type of the artifact.
func (m *manifest) kind() string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return m.Config.MediaType
}

// putManifest stores a manifest and its tag, or nothing.
func (s *Registry) putManifest(ctx context.Context, w http.ResponseWriter, r *http.Request, q request) error {
	u, err := s.beginEmpty(q.repository, q.client) // before the body is read, which limits how many are in memory
	if err != nil {
		return err
	}
	defer u.end()
	if r.ContentLength < 0 || r.ContentLength > smallManifest {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		default:
			return &Refusal{Status: http.StatusTooManyRequests, Code: "TOOMANYREQUESTS", Message: "too many large manifests at the same time", RetryAfter: time.Second}
		}
	}
	m, err := readManifest(r, q)
	if err != nil {
		return err
	}
	here, err := s.await(ctx, m.digest)
	if err == nil && !here {
		if err = u.claim(); err == nil {
			err = u.receive(bytes.NewReader(m.text), int64(len(m.text)), MaxManifest)
		}
	}
	if err != nil {
		return err
	}
	if err := s.store(ctx, u, m, q); err != nil {
		return err
	}
	if m.Subject != nil {
		w.Header().Set("OCI-Subject", m.Subject.Digest.String())
	}
	created(w, q.repository, "manifests", m.digest)
	return nil
}

// store makes the file of an upload a manifest, in one transaction with its tag.
func (s *Registry) store(ctx context.Context, u *upload, m *manifest, q request) error {
	s.files.Lock()
	defer s.files.Unlock()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it has no effect after a commit
	if err := s.checkParts(ctx, tx, m, q.repository); err != nil {
		return err
	}
	tagged, cost, err := s.checkTag(ctx, tx, m, q)
	if err != nil {
		return err
	}
	_, here, err := s.blobSize(ctx, tx, m.digest)
	if err != nil {
		return err
	}
	known, err := s.find(ctx, tx, q.repository, m.digest)
	switch refusal := new(Refusal); {
	case err != nil && !errors.As(err, &refusal):
		return err
	case err == nil && here && tagged:
		return nil // it is stored, with this tag
	}
	if err := s.o.Record(ctx, Push, subject(q), m.digest); err != nil {
		return err
	}
	if !here {
		takeBack, err := s.place(ctx, tx, u, m.digest)
		if err != nil {
			return err
		}
		defer takeBack()
	}
	if known.id == 0 {
		if known.id, err = insert(ctx, tx, m, q.repository); err != nil {
			return err
		}
	}
	if err := s.reserve(cost); err != nil {
		return err
	}
	if !tagged {
		_, err = tx.ExecContext(ctx, queries.Get("upsertTag"), q.repository, q.reference, known.id)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		s.release(cost)
		return err
	}
	u.stored = !here
	s.o.Log.Info("stored an artifact", "repository", q.repository, "reference", q.reference, "digest", m.digest, "type", m.kind(), "by", q.client)
	return nil
}

// subject names what is pushed, for the audit trail.
func subject(q request) string {
	if digestForm.MatchString(q.reference) {
		return q.repository + "@" + q.reference
	}
	return q.repository + ":" + q.reference
}

// checkParts checks that all blobs of a manifest are here, and what they say of a solution version.
func (s *Registry) checkParts(ctx context.Context, tx *sql.Tx, m *manifest, repository string) error {
	for _, d := range m.parts() {
		size, here, err := s.blobSize(ctx, tx, d.Digest.String())
		if err != nil {
			return err
		}
		if !here {
			return refuse(http.StatusNotFound, "MANIFEST_BLOB_UNKNOWN", "push %s first", d.Digest)
		}
		if m.isIndex() {
			if _, err := s.find(ctx, tx, repository, d.Digest.String()); err != nil {
				return err
			}
		}
		if size != d.Size {
			return refuse(http.StatusBadRequest, "SIZE_INVALID", "the blob %s has %d bytes, and the manifest says %d", d.Digest, size, d.Size)
		}
	}
	if m.Subject != nil {
		var count int
		if err := tx.QueryRowContext(ctx, queries.Get("countReferrers"), repository, m.Subject.Digest.String()).Scan(&count); err != nil {
			return err
		}
		if count >= maxReferrers {
			return refuse(http.StatusInsufficientStorage, denied, "%d artifacts refer to %s already", count, m.Subject.Digest)
		}
	}
	if m.ArtifactType != solution.ArtifactType {
		return nil
	}
	config, _, err := solution.ReadManifest(m.text)
	if err != nil {
		return refuse(http.StatusBadRequest, "MANIFEST_INVALID", "%v", err)
	}
	text, err := os.ReadFile(s.blobFile(config.Digest.String()))
	if err != nil {
		return err
	}
	d, err := solution.ReadDescriptor(text)
	if err != nil {
		return refuse(http.StatusBadRequest, "MANIFEST_INVALID", "the descriptor: %v", err)
	}
	m.application, m.environment = d.Application, d.Environment
	return nil
}

// checkTag reports whether the manifest has the tag of the request already, which may be none, and otherwise what the tag costs.
func (s *Registry) checkTag(ctx context.Context, tx *sql.Tx, m *manifest, q request) (tagged bool, cost int64, err error) {
	if digestForm.MatchString(q.reference) {
		return true, 0, nil
	}
	there, err := s.find(ctx, tx, q.repository, q.reference)
	switch refusal := new(Refusal); {
	case errors.As(err, &refusal):
		return false, tagCost, nil
	case err != nil || there.digest == m.digest:
		return err == nil, 0, err
	case m.environment == q.reference && (there.environment != q.reference || there.application == m.application):
		// The tag of an environment is for its versions, whatever had it before, and what clients may still read then.
		_, err = tx.ExecContext(ctx, queries.Get("touchBlob"), s.o.Now().Unix(), there.digest)
		return false, 0, err
	}
	return false, 0, refuse(http.StatusConflict, denied,
		"the tag %s is %s: tags are not moved, except that of an environment to another version of its application", q.reference, there.digest)
}

// insert stores a manifest with its parts, and returns its number.
func insert(ctx context.Context, tx *sql.Tx, m *manifest, repository string) (id int64, err error) {
	of, annotations := "", []byte("{}")
	if m.Subject != nil {
		of = m.Subject.Digest.String()
		if annotations, err = json.Marshal(m.Annotations); err != nil {
			return 0, err
		}
	}
	err = tx.QueryRowContext(ctx, queries.Get("insertManifest"),
		repository, m.digest, len(m.text), m.mediaType, m.kind(), of, string(annotations), m.application, m.environment).Scan(&id)
	if err != nil {
		return 0, err
	}
	for _, d := range append(m.parts(), ocispec.Descriptor{Digest: digest.Digest(m.digest)}) {
		if _, err := tx.ExecContext(ctx, queries.Get("insertPart"), id, d.Digest.String()); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// listTags serves the tags of a repository, in pages.
func (s *Registry) listTags(ctx context.Context, w http.ResponseWriter, r *http.Request, q request) error {
	n := maxTags
	if text := r.URL.Query().Get("n"); text != "" {
		stated, err := strconv.Atoi(text)
		if err != nil || stated < 0 {
			return refuse(http.StatusBadRequest, unsupported, "n is not a number")
		}
		n = min(n, stated)
	}
	var one int
	if err := s.db.QueryRowContext(ctx, queries.Get("selectRepository"), q.repository).Scan(&one); errors.Is(err, sql.ErrNoRows) {
		return refuse(http.StatusNotFound, "NAME_UNKNOWN", "there is no repository %s", q.repository)
	} else if err != nil {
		return err
	}
	tags := []string{}
	err := s.each(ctx, func(scan func(...any) error) error {
		var tag string
		err := scan(&tag)
		tags = append(tags, tag)
		return err
	}, "selectTags", q.repository, r.URL.Query().Get("last"), n+1)
	if err != nil {
		return err
	}
	if len(tags) > n {
		if tags = tags[:n]; n > 0 {
			next := url.Values{"n": {strconv.Itoa(n)}, "last": {tags[n-1]}}
			w.Header().Set("Link", fmt.Sprintf(`</v2/%s/tags/list?%s>; rel="next"`, q.repository, next.Encode()))
		}
	}
	writeJSON(w, http.StatusOK, "application/json", map[string]any{"name": q.repository, "tags": tags})
	return nil
}

// listReferrers serves the manifests that refer to one.
func (s *Registry) listReferrers(ctx context.Context, w http.ResponseWriter, r *http.Request, q request) error {
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}
	filter := r.URL.Query().Get("artifactType")
	err := s.each(ctx, func(scan func(...any) error) error {
		var d ocispec.Descriptor
		var annotations string
		if err := scan(&d.Digest, &d.Size, &d.MediaType, &d.ArtifactType, &annotations); err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, d)
		return json.Unmarshal([]byte(annotations), &index.Manifests[len(index.Manifests)-1].Annotations)
	}, "selectReferrers", q.repository, q.reference, filter)
	if err != nil {
		return err
	}
	if filter != "" {
		w.Header().Set("OCI-Filters-Applied", "artifactType")
	}
	writeJSON(w, http.StatusOK, ocispec.MediaTypeImageIndex, index)
	return nil
}
