// Package revisions reads the revisions that reconcilers report: commits, digests and versions.
package revisions

import "strings"

// Revision is what a reconciler runs: a commit of a branch or tag, the digest of an artifact, or a version.
type Revision struct {
	// Name is the branch, tag or version; optional.
	Name string `json:"name,omitempty"`
	// Hash is the full commit or digest in lower case; optional.
	Hash string `json:"hash,omitempty"`
}

// Parse parses the revision that a reconciler reports. It accepts any text:
// without a full hash, the text is a name, because a short hash can become ambiguous.
//
//	main@sha1:<40 digits>      Flux; also @sha256: with 64 digits
//	sha1:<40 digits>           Flux, if the source names a commit
//	main/<40 digits>           Flux before 2.0
//	<40 or 64 digits>          Argo CD
//	v1.2.3                     a chart's version
func Parse(text string) Revision {
	text = Branch(text)
	if name, digest, ok := cutLast(text, "@"); ok {
		if hash, ok := parseDigest(digest); ok {
			return Revision{Name: strings.TrimSpace(name), Hash: hash}
		}
	}
	if hash, ok := parseDigest(text); ok {
		return Revision{Hash: hash}
	}
	if hash := strings.ToLower(text); isHash(hash) {
		return Revision{Hash: hash}
	}
	if name, last, ok := cutLast(text, "/"); ok {
		if hash := strings.ToLower(last); isHash(hash) {
			return Revision{Name: strings.TrimSpace(name), Hash: hash}
		}
	}
	return Revision{Name: text}
}

// String formats the revision as Flux writes it.
func (r Revision) String() string {
	if r.Hash == "" {
		return r.Name
	}
	digest := "sha1:" + r.Hash
	if len(r.Hash) == 64 {
		digest = "sha256:" + r.Hash
	}
	if r.Name == "" {
		return digest
	}
	return r.Name + "@" + digest
}

// Short returns the revision for messages, with an abbreviated commit.
func (r Revision) Short() string {
	if r.Hash == "" {
		return r.Name
	}
	return r.Hash[:min(len(r.Hash), 7)]
}

func parseDigest(text string) (hash string, ok bool) {
	algorithm, hash, ok := strings.Cut(text, ":")
	hash = strings.ToLower(hash)
	ok = ok && (algorithm == "sha1" && len(hash) == 40 || algorithm == "sha256" && len(hash) == 64)
	return hash, ok && isHash(hash)
}

func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Branch returns a branch without refs/heads/.
func Branch(s string) string {
	s = strings.TrimSpace(s)
	for strings.HasPrefix(s, "refs/heads/") {
		s = strings.TrimSpace(strings.TrimPrefix(s, "refs/heads/"))
	}
	return s
}

// cutLast cuts around the last separator, because names of branches may contain it.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}
