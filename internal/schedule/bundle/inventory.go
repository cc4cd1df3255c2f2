package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// inventory is the file that lists what Kalypso wrote for a cluster type, or for a cluster with values of its own, and for which
// assignments, one per line:
//
//	{
//	  "version": 1,
//	  "environment": "dev",
//	  "clusterType": "drone",
//	  "readme": "0d1f…",
//	  "sources": {
//	    "3fa9c1e2": ["ConfigMap/dev-config", "ConfigMap/drone-config", "Template/arc-flux"]
//	  },
//	  "assignments": {
//	    "hello-world-app-functional-test": {"workload": "hello-world-app", "workspace": "kaizen-app-team", …, "sources": "3fa9c1e2", "files": {"namespace.yaml": "9b2c…"}}
//	  }
//	}
//
// The hashes are Git blob IDs: a file with a different one was changed by hand.
type inventory struct {
	Version     int    `json:"version"`
	Environment string `json:"environment"`
	// Cluster is the cluster whose folder it is; empty for a cluster type.
	Cluster     string               `json:"cluster,omitempty"`
	ClusterType string               `json:"clusterType"`
	Readme      string               `json:"readme"`
	Sources     map[string][]string  `json:"sources"`
	Assignments inventoryAssignments `json:"assignments"`
}

// inventoryAssignments are the assignments of an inventory, sorted by target.
type inventoryAssignments []inventoryAssignment

type inventoryAssignment struct {
	Target       string
	Workload     string
	Workspace    string
	Registration string
	Policies     []string
	// DependsOn is what the files were written to depend on.
	DependsOn []string
	Sources   string
	// Files are sorted by name, and have no path.
	Files []TreeEntry
}

// encodedAssignment is the JSON form of an assignment.
type encodedAssignment struct {
	Workload     string            `json:"workload"`
	Workspace    string            `json:"workspace"`
	Registration string            `json:"registration"`
	Policies     []string          `json:"policies"`
	DependsOn    []string          `json:"dependsOn"`
	Sources      string            `json:"sources"`
	Files        map[string]string `json:"files"`
}

// UnmarshalJSON decodes an object with the targets as keys.
func (l *inventoryAssignments) UnmarshalJSON(content []byte) error {
	var entries map[string]encodedAssignment
	if err := json.Unmarshal(content, &entries); err != nil {
		return err
	}
	*l = make(inventoryAssignments, 0, len(entries))
	for _, target := range slices.Sorted(maps.Keys(entries)) {
		e := entries[target]
		a := inventoryAssignment{Target: target, Workload: e.Workload, Workspace: e.Workspace, Registration: e.Registration, Policies: e.Policies, DependsOn: e.DependsOn, Sources: e.Sources}
		for _, name := range slices.Sorted(maps.Keys(e.Files)) {
			hash, err := ParseHash(e.Files[name])
			if err != nil {
				return fmt.Errorf("file %q: %w", path.Join(target, name), err)
			}
			a.Files = append(a.Files, TreeEntry{Name: name, Hash: hash})
		}
		*l = append(*l, a)
	}
	return nil
}

// inventoryVersion is the version of the format that is written, and the only one that is read.
const inventoryVersion = 1

// ErrNewer is the error for an inventory that a newer Kalypso wrote. It must not be overwritten.
var ErrNewer = errors.New("a newer Kalypso wrote it")

// DecodeInventory decodes an inventory of either pipeline. found points to its version field, known are the versions
// that this program writes. Any other version is an error; a later one is [ErrNewer].
func DecodeInventory(content []byte, into any, found *int, known ...int) error {
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if newest := slices.Max(known); *found > newest {
		return fmt.Errorf("%w: it has version %d, this program writes %d; use a newer one", ErrNewer, *found, newest)
	}
	if !slices.Contains(known, *found) {
		return fmt.Errorf("version %d is not one this program knows", *found)
	}
	return nil
}

// Digest identifies files by their paths and hashes, in order.
func Digest(files iter.Seq[File]) string {
	h := sha256.New()
	for f := range files {
		h.Write([]byte(f.Path))
		h.Write([]byte{0})
		h.Write(f.Hash[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// newSources returns the set of the references that list returns.
func newSources(list func() []fleet.Ref) *Sources {
	s := &Sources{list: list}
	h := sha256.New()
	for _, ref := range s.Refs() {
		h.Write([]byte(ref.String() + "\n"))
	}
	s.id = hex.EncodeToString(h.Sum(nil)[:6])
	return s
}

// newInventory returns the file with the inventory of a folder that is complete.
func newInventory(at, environment string, f *Folder) File {
	return newFileOf(at, func() []byte { return encodeInventory(environment, f) })
}

// encodeInventory writes the inventory of a folder. Keys are sorted, so equal folders give equal bytes.
func encodeInventory(environment string, f *Folder) []byte {
	sources := f.sources()
	w := jsonWriter{buf: make([]byte, 0, inventorySize(len(f.Assignments), len(sources)))}
	w.raw("{\n  \"version\": 1,\n  \"environment\": ").text(environment)
	if f.Cluster != "" {
		w.raw(",\n  \"cluster\": ").text(f.Cluster)
	}
	w.raw(",\n  \"clusterType\": ").text(f.ClusterType)
	w.raw(",\n  \"readme\": \"").hash(f.Readme.Hash).raw("\",\n  \"sources\": {")
	for i, s := range sources {
		w.separator(i).raw("\n    ").text(s.id).raw(": ").refs(s.Refs())
	}
	w.raw("\n  },\n  \"assignments\": {")
	for i, a := range f.published() {
		w.separator(i).raw("\n    ").text(a.Target).raw(": ").assignment(a, f.drifted)
	}
	return w.raw("\n  }\n}\n").buf
}

// inventorySize estimates the size of an inventory in bytes, for names of typical length.
func inventorySize(assignments, sets int) int {
	const sourcesOfSet = 800 // of 25 references
	return 1024 + 420*assignments + sourcesOfSet*sets
}

// published returns the assignments that have files.
func (f *Folder) published() []*Assignment {
	list := make([]*Assignment, 0, len(f.Assignments))
	for i := range f.Assignments {
		if len(f.Assignments[i].Files) > 0 {
			list = append(list, &f.Assignments[i])
		}
	}
	return list
}

// sources returns the distinct source sets of the folder, by ID.
func (f *Folder) sources() []*Sources {
	sets := map[string]*Sources{}
	for _, a := range f.published() {
		if a.Sources != nil {
			sets[a.Sources.id] = a.Sources
		}
	}
	ids := slices.Sorted(maps.Keys(sets))
	list := make([]*Sources, len(ids))
	for i, id := range ids {
		list[i] = sets[id]
	}
	return list
}

// jsonWriter appends JSON to a buffer. For a large inventory, encoding/json would take as long as rendering.
type jsonWriter struct{ buf []byte }

func (w *jsonWriter) raw(s string) *jsonWriter {
	w.buf = append(w.buf, s...)
	return w
}

func (w *jsonWriter) separator(i int) *jsonWriter {
	if i > 0 {
		w.buf = append(w.buf, ',')
	}
	return w
}

func (w *jsonWriter) hash(h Hash) *jsonWriter {
	w.buf = hex.AppendEncode(w.buf, h[:])
	return w
}

// text appends a string. Only strings with special characters take the slow path.
func (w *jsonWriter) text(s string) *jsonWriter {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			quoted, err := json.Marshal(s)
			if err != nil {
				quoted = []byte(`""`) // cannot happen: every string can be encoded
			}
			w.buf = append(w.buf, quoted...)
			return w
		}
	}
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '"')
	return w
}

func (w *jsonWriter) field(name, value string) *jsonWriter {
	if value == "" {
		return w
	}
	return w.text(name).raw(": ").text(value).raw(", ")
}

func (w *jsonWriter) list(name string, values []string) *jsonWriter {
	if len(values) == 0 {
		return w
	}
	w.text(name).raw(": [")
	for i, value := range values {
		if i > 0 {
			w.raw(", ")
		}
		w.text(value)
	}
	return w.raw("], ")
}

func (w *jsonWriter) refs(refs []fleet.Ref) *jsonWriter {
	w.raw("[")
	for i, ref := range refs {
		if i > 0 {
			w.raw(", ")
		}
		w.text(ref.String())
	}
	return w.raw("]")
}

func (w *jsonWriter) assignment(a *Assignment, drifted map[string]Hash) *jsonWriter {
	w.raw("{").field("workload", a.Workload).field("workspace", a.Workspace).field("registration", a.Registration)
	w.list("policies", a.Policies).list("dependsOn", a.needs)
	if a.Sources != nil {
		w.field("sources", a.Sources.id)
	}
	w.raw(`"files": {`)
	for i, file := range a.Files {
		if i > 0 {
			w.raw(", ")
		}
		// A file kept as published keeps its recorded hash, so that a change by hand remains visible.
		hash := file.Hash
		if recorded, ok := drifted[file.Path]; ok && !file.Written() {
			hash = recorded
		}
		w.text(file.Name()).raw(`: "`).hash(hash).raw(`"`)
	}
	return w.raw("}}")
}

// decodeInventory parses an inventory. It does not trust the content, because anyone who can push to the branch can
// write it: an inventory can only list files that an assignment's folder can have. known is used for all inventories that
// are kept at a time; optional.
func decodeInventory(content []byte, folder string, known *names) (*inventory, error) {
	inv, ok := scanInventory(content, known)
	if !ok {
		inv = &inventory{}
		if err := DecodeInventory(content, inv, &inv.Version, inventoryVersion); err != nil {
			return nil, err
		}
	}
	switch cluster, isCluster := fleet.ClusterOf(folder); {
	case isCluster && inv.Cluster != cluster:
		return nil, fmt.Errorf("it is for cluster %q", inv.Cluster)
	case isCluster && !isFolderName(inv.ClusterType):
		return nil, fmt.Errorf("%q is not the name of a cluster type", inv.ClusterType)
	case !isCluster && (inv.ClusterType != folder || inv.Cluster != ""):
		return nil, fmt.Errorf("it is for cluster type %q", inv.ClusterType)
	}
	for i := range inv.Assignments {
		a := &inv.Assignments[i]
		if !isFolderName(a.Target) {
			return nil, fmt.Errorf("%q is not the name of a target", a.Target)
		}
		for _, f := range a.Files {
			if !isAssignmentFile(f.Name) {
				return nil, fmt.Errorf("%q is not a file of an assignment", path.Join(a.Target, f.Name))
			}
		}
	}
	return inv, nil
}

// isFolderName reports whether name is valid as one path element of ours.
func isFolderName(name string) bool {
	return name != "" && name[0] != '.' && !strings.ContainsAny(name, "/\\\x00")
}

// parseRef parses "Kind/name".
func parseRef(s string) (fleet.Ref, bool) {
	kind, name, ok := strings.Cut(s, "/")
	return fleet.Ref{Kind: kind, Name: name}, ok && kind != "" && name != ""
}
