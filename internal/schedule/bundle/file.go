package bundle

import (
	"crypto/sha1" //nolint:gosec // Git names blobs by SHA-1.
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
)

// Hash is the ID that Git gives to a file's content.
type Hash [sha1.Size]byte

// HashOf returns the Git blob ID of content.
func HashOf(content []byte) Hash {
	header := make([]byte, 0, 64)
	header = append(header, "blob "...)
	header = strconv.AppendInt(header, int64(len(content)), 10)
	header = append(header, 0)

	h := sha1.New() //nolint:gosec // Git names blobs by SHA-1.
	h.Write(header)
	h.Write(content)
	return Hash(h.Sum(header[:0]))
}

// ParseHash parses the hexadecimal form.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return Hash{}, fmt.Errorf("%q is not a blob id of 40 hexadecimal digits", s)
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("%q is not a blob id of 40 hexadecimal digits", s)
	}
	return h, nil
}

// String returns the hexadecimal form.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hexadecimal form.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// File is one file of the GitOps branch.
type File struct {
	// Path is relative to the root of the repository.
	Path string
	// Hash is the blob ID of the content.
	Hash Hash

	content extract
}

// NewFile returns a file with the content, which the caller does not change any more.
func NewFile(path string, content []byte) File {
	return File{Path: path, Hash: HashOf(content), content: extract{&text{plain: content}, 0, len(content)}}
}

// newFileOf returns a file whose content is made again when it is read.
func newFileOf(path string, make func() []byte) File {
	content := make()
	return File{Path: path, Hash: HashOf(content), content: extract{&text{again: make}, 0, len(content)}}
}

// Written reports whether the file has content, unlike one that stays as published.
func (f File) Written() bool { return f.content.text != nil }

// Equal reports whether two files have the same path and content.
func (f File) Equal(other File) bool {
	return f.Path == other.Path && f.Hash == other.Hash && f.Written() == other.Written()
}

// Content returns the content, which must not be changed; nil if the file stays as published. Large texts are unpacked for it.
func (f File) Content() []byte {
	switch {
	case !f.Written():
		return nil
	case f.content.from == f.content.to:
		return []byte{} // nil would be a file without content
	}
	return f.content.text.read()[f.content.from:f.content.to:f.content.to]
}

// Name returns the last element of the path.
func (f File) Name() string { return path.Base(f.Path) }

// File names, including those that the original scheduler used.
const (
	readmeName       = "README.md"
	namespaceName    = "namespace.yaml"
	reconcilerName   = "reconciler.yaml"
	zarfName         = "zarf.yaml"
	configYAMLName   = "platform-config.yaml"
	configShellName  = "platform-config.sh"
	legacyConfigYAML = "config.yaml"
	legacyConfigSh   = "config.sh"
	ownFolder        = ".kalypso"
	inventoryFolder  = ownFolder + "/inventory"
)

// TrackingPath is the file that holds the promoted commit of main. It is at the root or, if environments share the branch,
// below the path of each.
const TrackingPath = ".github/tracking/Promoted_Commit_Id"

// isAssignmentFile reports whether an assignment's folder can contain a file called name.
func isAssignmentFile(name string) bool {
	switch name {
	case namespaceName, reconcilerName, zarfName, configYAMLName, configShellName, legacyConfigYAML, legacyConfigSh:
		return true
	}
	return false
}

// IsConfig reports whether p is the path of a rendered platform configuration.
func IsConfig(p string) bool {
	switch path.Base(p) {
	case configYAMLName, configShellName, legacyConfigYAML, legacyConfigSh:
		return true
	}
	return false
}
