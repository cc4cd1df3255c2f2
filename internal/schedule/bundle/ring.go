package bundle

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/window"
	"github.com/kalypso-io/kalypso/internal/schedule/pull"
)

// ringsFile lists the rings of an environment and their clusters.
const ringsFile = ".kalypso/rings.json"

// pullFile has the objects by which a cluster pulls.
const pullFile = "pull.yaml"

// Rings are the parts of an environment that are rolled out one after the other, as they are in a GitOps branch: what clusters follow
// was derived from the same commit.
type Rings struct {
	// Stages are the rings, and the batches of rings, in the order of rollouts.
	Stages []fleet.Stage
}

// Stage returns the stage of a cluster; "" if none has it.
func (r *Rings) Stage(cluster string) string {
	for _, s := range r.Stages {
		if _, ok := slices.BinarySearch(s.Clusters, cluster); ok {
			return s.Name
		}
	}
	return ""
}

// rings is the file with the rings, with one cluster per line:
//
//	{
//	  "version": 1,
//	  "environment": "prod",
//	  "stages": [
//	    {"name": "canary", "clusters": [
//	      {"name": "west-001", "pull": "9b2c…"}
//	    ]},
//	    {"name": "others", "clusters": []},
//	    {"name": "others.cluster-east-001", "windows": [{"cron": "0 2 * * *", "duration": "3h0m0s"}], "clusters": [
//	      {"name": "east-001", "pull": "9b2c…"}
//	    ]}
//	  ],
//	  "refs": [
//	    {"file": "edge/shop-web/reconciler.yaml", "repo": "https://…", "branch": "prod", "rings": ["canary", "others"]}
//	  ]
//	}
//
// pull is the Git blob ID of the objects by which the cluster pulls; it is absent if they are written by hand.
// refs are the files that are different on the branches of rings.
// In an environment that has no rings any more, the clusters are in one stage without a name.
type rings struct {
	Version     int         `json:"version"`
	Environment string      `json:"environment"`
	Stages      []ringStage `json:"stages"`
	Refs        []Ref       `json:"refs,omitempty"`
}

type ringStage struct {
	Name string `json:"name"`
	// Windows and Hold are those of the only cluster.
	Windows  []v1alpha1.Window `json:"windows,omitempty"`
	Hold     *v1alpha1.Hold    `json:"hold,omitempty"`
	Clusters []ringCluster     `json:"clusters"`
}

type ringCluster struct {
	Name string `json:"name"`
	Pull string `json:"pull,omitempty"`
}

const ringsVersion = 1

func ringsPath(root string) string { return path.Join(root, ringsFile) }

func pullPath(root, cluster string) string { return path.Join(root, pull.Folder(cluster), pullFile) }

// encodeRings writes the file. pulls are the files with which clusters pull. Equal rings give equal bytes.
func encodeRings(environment string, stages []fleet.Stage, pulls map[string]File, refs []Ref) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"version\": %d,\n  \"environment\": %s,\n  \"stages\": [", ringsVersion, quoteJSON(environment))
	for i, s := range stages {
		fmt.Fprintf(&b, "%s\n    {\"name\": %s, ", strings.Repeat(",", min(i, 1)), quoteJSON(s.Name))
		if len(s.Windows) > 0 {
			fmt.Fprintf(&b, "\"windows\": %s, ", quoteJSON(s.Windows))
		}
		if s.Hold != nil {
			fmt.Fprintf(&b, "\"hold\": %s, ", quoteJSON(s.Hold))
		}
		b.WriteString("\"clusters\": [")
		for n, c := range s.Clusters {
			entry := ringCluster{Name: c}
			if f, ok := pulls[c]; ok {
				entry.Pull = f.Hash.String()
			}
			b.WriteString(strings.Repeat(",", min(n, 1)) + "\n      " + quoteJSON(entry))
		}
		if len(s.Clusters) > 0 {
			b.WriteString("\n    ")
		}
		b.WriteString("]}")
	}
	b.WriteString("\n  ]")
	for i, ref := range refs {
		if i == 0 {
			b.WriteString(",\n  \"refs\": [")
		}
		b.WriteString(strings.Repeat(",", min(i, 1)) + "\n    " + quoteJSON(ref))
	}
	if len(refs) > 0 {
		b.WriteString("\n  ]")
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}

// decodeRings parses the file.
func decodeRings(content []byte) (*rings, error) {
	var file rings
	if err := DecodeInventory(content, &file, &file.Version, ringsVersion); err != nil {
		return nil, err
	}
	names, clusters := map[string]bool{}, map[string]bool{}
	for i := range file.Stages {
		s := &file.Stages[i]
		if unnamed := s.Name == "" && len(file.Stages) == 1; !unnamed && !isStageName(s.Name) || names[s.Name] {
			return nil, fmt.Errorf("%q is not the name of a stage, or not the only one with this name", s.Name)
		}
		names[s.Name] = true
		stage := fleet.Stage{Name: s.Name, Ring: fleet.RingOfStage(s.Name)}
		if cluster, own := stage.Own(); own != (len(s.Windows) > 0 || s.Hold != nil) || own && (len(s.Clusters) != 1 || s.Clusters[0].Name != cluster) {
			return nil, fmt.Errorf("stage %q has windows or a hold, or is named after a cluster, and only both together, with this cluster", s.Name)
		}
		for _, w := range s.Windows {
			if _, err := window.Parse(w); err != nil {
				return nil, fmt.Errorf("stage %q: %w", s.Name, err)
			}
		}
		slices.SortFunc(s.Clusters, func(x, y ringCluster) int { return cmp.Compare(x.Name, y.Name) })
		for _, c := range s.Clusters {
			if !isFolderName(c.Name) || clusters[c.Name] {
				return nil, fmt.Errorf("%q is not the name of a cluster, or is in two stages", c.Name)
			}
			clusters[c.Name] = true
		}
	}
	for _, ref := range file.Refs {
		if len(ref.Rings) == 0 || ref.Branch == "" || path.Clean(ref.File) != ref.File || strings.HasPrefix(ref.File, "/") || strings.HasPrefix(ref.File, "..") {
			return nil, fmt.Errorf("%q has no rings or no branch, or is not the path of a file", ref.File)
		}
	}
	if len(file.Stages) == 0 {
		return nil, fmt.Errorf("it has no stages")
	}
	return &file, nil
}

// isStageName reports whether a name is that of a ring, of a batch of a ring, or of a cluster in a ring.
func isStageName(name string) bool {
	stage := fleet.Stage{Name: name, Ring: fleet.RingOfStage(name)}
	if cluster, own := stage.Own(); own {
		return isFolderName(stage.Ring) && isFolderName(cluster)
	}
	return isFolderName(stage.Ring) && strings.Trim(name[len(stage.Ring):], ".01") == ""
}

// publishedRings are the rings of a branch.
type publishedRings struct {
	Rings
	file File
	// foreign means that the file is not one of ours, or cannot be read.
	foreign bool
	refs    []Ref
	// pulls are the files with which clusters pull, by cluster.
	pulls map[string]File
}

// readRings reads the rings below root.
func (p *Published) readRings(root string, exists func(environment string) bool) error {
	at := ringsPath(root)
	hash, ok := p.Hash(at)
	if !ok {
		return nil
	}
	p.rings = &publishedRings{file: File{Path: at, Hash: hash}, pulls: map[string]File{}}
	file, problem, err := ReadInventory(p.branch, at, "restore the file; rollouts stop until it can be read", decodeRings)
	switch {
	case err != nil:
		return err
	case problem != nil:
		problem.Severity = fleet.SeverityError
		p.Problems = append(p.Problems, *problem)
		p.rings.foreign = true
		return nil
	case file.Environment != p.environment && (exists == nil || exists(file.Environment)):
		p.rings.foreign = true
		return nil
	}
	p.rings.refs = file.Refs
	for _, s := range file.Stages {
		stage := fleet.Stage{Name: s.Name, Ring: fleet.RingOfStage(s.Name), Windows: s.Windows, Hold: s.Hold}
		for _, c := range s.Clusters {
			stage.Clusters = append(stage.Clusters, c.Name)
			written, err := ParseHash(c.Pull)
			if err != nil {
				continue
			}
			p.addedToPull(root, c.Name)
			at := pullPath(root, c.Name)
			if hash, ok := p.paths.Compare(at, written, &p.Drift); ok {
				p.rings.pulls[c.Name] = File{Path: at, Hash: hash}
			}
		}
		p.rings.Stages = append(p.rings.Stages, stage)
	}
	return nil
}

// Rings returns the rings of the branch; nil if it has none. unknown means that the branch has a file with rings that cannot be read.
func (p *Published) Rings() (r *Rings, unknown bool) {
	switch {
	case p == nil || p.rings == nil:
		return nil, false
	case p.rings.foreign:
		return nil, true
	case p.rings.Stages[0].Name == "":
		return nil, false
	}
	return &p.rings.Rings, false
}

// HasPull reports whether the branch has the objects by which a cluster pulls.
func (p *Published) HasPull(cluster string) bool {
	return p != nil && p.rings != nil && p.rings.pulls[cluster].Path != ""
}

// ringBuild decides about the files of rings.
type ringBuild struct {
	*builder
	result *Bundle
	texts  map[pullKey][]byte
	pulls  map[string]File
}

// pullKey identifies the content of a pull file: most clusters share it with others.
type pullKey struct{ reconciler, secret, branch, clusterType, folder string }

// addRings adds the file with the rings, and the objects by which clusters pull. If the rings cannot be read, all stay as they are.
func (b *builder) addRings(result *Bundle) {
	var published *publishedRings
	if b.published != nil {
		published = b.published.rings
	}
	if b.snapshot.LostRings && published != nil {
		result.RingFiles = published.files()
		return
	}
	if published == nil && len(b.snapshot.Rings) == 0 {
		return
	}
	if published != nil && published.foreign {
		b.problems = append(b.problems, foreignFile(published.file.Path, "the rings cannot be written: the file belongs to another environment, or cannot be read",
			"restore the file, or give each environment a branch or path of its own in its GitOpsRepo"))
		return
	}
	r := &ringBuild{builder: b, result: result, texts: map[pullKey][]byte{}, pulls: map[string]File{}}
	stages := b.snapshot.Stages(b.lostClusters(published))
	if stages == nil {
		stages = b.withoutRings(published)
	}
	if stages == nil {
		return
	}
	r.addPulls(stages, published)
	var refs []Ref
	if stages[0].Name != "" {
		refs = r.refs(published)
	}
	if _, ok := r.put(ringsPath(b.root), encodeRings(b.snapshot.Environment, stages, r.pulls, refs), published != nil); !ok {
		result.RingFiles = nil
		return
	}
	if stages[0].Name != "" {
		result.Rings = &Rings{Stages: stages}
	}
	slices.SortFunc(result.RingFiles, func(x, y File) int { return cmp.Compare(x.Path, y.Path) })
}

// withoutRings returns the clusters that follow what their files say, in an environment that has no rings any more: all follow the
// branch of the environment now. Without these files they would follow their rings, which stand still, for ever.
func (b *builder) withoutRings(published *publishedRings) []fleet.Stage {
	var all fleet.Stage
	for _, s := range published.Stages {
		for _, c := range s.Clusters {
			if b.snapshot.Cluster(c) != nil || b.lostCluster(c) {
				all.Clusters = append(all.Clusters, c)
			}
		}
	}
	if len(all.Clusters) == 0 {
		return nil
	}
	slices.Sort(all.Clusters)
	return []fleet.Stage{all}
}

// lostClusters are those that are published in a ring and whose Cluster cannot be read. They stay in their ring.
func (b *builder) lostClusters(published *publishedRings) []*fleet.Cluster {
	if published == nil {
		return nil
	}
	var all []*fleet.Cluster
	for _, s := range published.Stages {
		for _, c := range s.Clusters {
			if b.snapshot.Cluster(c) == nil && b.lostCluster(c) {
				all = append(all, &fleet.Cluster{Name: c, Ring: s.Ring, Windows: s.Windows, Hold: s.Hold})
			}
		}
	}
	return all
}

// lostCluster reports whether a Cluster that is not in the snapshot may exist.
func (b *builder) lostCluster(name string) bool {
	_, nameless := b.lost.nameless["Cluster"]
	return b.lost.file != nil || nameless || len(b.lost.refs[clusterRef(name)]) > 0
}

// addPulls adds the objects by which each cluster pulls.
func (r *ringBuild) addPulls(stages []fleet.Stage, published *publishedRings) {
	byHand := map[string]bool{}
	folders := map[string]bool{}
	for _, f := range r.result.Folders {
		folders[f.Name] = f.Cluster != ""
	}
	for _, s := range stages {
		branch := r.snapshot.GitOps.Branch
		if s.Name != "" {
			branch = fleet.RingBranch(r.snapshot.Environment, s.Name)
		}
		for _, name := range s.Clusters {
			c := r.snapshot.Cluster(name)
			if c == nil { // lost: its file stays
				if file, ok := published.pulls[name]; ok {
					r.pulls[name] = file
					r.result.RingFiles = append(r.result.RingFiles, file)
				}
				continue
			}
			ct := r.snapshot.ClusterType(c.Type).Of(c)
			reconciler := pull.ReconcilerOf(ct)
			if reconciler == "" {
				byHand[c.Type] = byHand[c.Type] || ct.Pull == ""
				continue
			}
			key := pullKey{reconciler: reconciler, secret: ct.ClusterLabels()[gitSecretLabel], branch: branch, clusterType: c.Type}
			if folders[fleet.ClusterFolder(name)] {
				key.folder = fleet.ClusterFolder(name)
			}
			ours := published != nil && published.pulls[name].Path != ""
			if file, ok := r.put(pullPath(r.root, name), r.text(key), ours); ok {
				r.pulls[name] = file
			}
		}
	}
	for _, ct := range r.snapshot.ClusterTypes {
		if byHand[ct.Name] {
			r.problems = append(r.problems, fleet.Problem{
				Severity: fleet.SeverityWarning, Kind: fleet.KindMissingField, Object: fleet.Ref{Kind: "ClusterType", Name: ct.Name}, Position: ct.Position,
				Message: fmt.Sprintf("it is not known how clusters of type %q pull, so that the objects by which they follow their rings have to be written by hand", ct.Name),
				Hint:    "set spec.pull to flux, argocd, fleet or direct, or to none if that is what you want",
			})
		}
	}
}

// gitSecretLabel is the label of a cluster that names the Secret with the credential for the GitOps repository.
const gitSecretLabel = "git-secret"

func (r *ringBuild) text(key pullKey) []byte {
	if text, known := r.texts[key]; known {
		return text
	}
	source := pull.Source{
		Environment: r.snapshot.Environment, ClusterType: key.clusterType, Folder: key.folder,
		URL: r.snapshot.GitOps.URL, Branch: key.branch, Path: r.root,
	}
	var b bytes.Buffer
	for i, o := range source.Objects(key.reconciler, key.secret) {
		b.WriteString(strings.Repeat("---\n", min(i, 1)))
		text, err := yaml.Marshal(o)
		if err != nil {
			continue // cannot happen: the objects are maps of strings
		}
		b.Write(text)
	}
	if key.folder == "" {
		r.texts[key] = b.Bytes()
	}
	return b.Bytes()
}

// put adds a file. It returns false if something that is not ours is in its place.
func (r *ringBuild) put(at string, content []byte, ours bool) (f File, ok bool) {
	f = NewFile(at, content)
	hash, exists := r.published.Hash(at)
	if r.published.obstacle(at) != "" || exists && !ours && hash != f.Hash {
		r.problems = append(r.problems, foreignFile(at, "the GitOps branch has a file of this name that Kalypso did not write", "delete or rename it there"))
		return File{}, false
	}
	r.result.RingFiles = append(r.result.RingFiles, f)
	return f, true
}

func foreignFile(at, message, hint string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindFileConflict, Position: fleet.Position{Source: "gitops", File: at}, Message: message, Hint: hint,
	}
}

// files are the published files of the rings.
func (r *publishedRings) files() []File {
	files := []File{r.file}
	for _, f := range r.pulls {
		files = append(files, f)
	}
	slices.SortFunc(files, func(x, y File) int { return cmp.Compare(x.Path, y.Path) })
	return files
}

// deletedRings returns the files of rings that are no longer needed.
func (b *Bundle) deletedRings() []Change {
	if b.published == nil || b.published.rings == nil || b.published.rings.foreign {
		return nil
	}
	keep := make(map[string]bool, len(b.RingFiles))
	for _, f := range b.RingFiles {
		keep[f.Path] = true
	}
	var changes []Change
	for _, f := range b.published.rings.files() {
		if !keep[f.Path] {
			changes = append(changes, Change{Path: f.Path, Old: f.Hash})
		}
	}
	return changes
}
