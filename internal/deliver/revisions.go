package deliver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/nearest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	// maxPast is how many commits of a GitOps branch are searched, from the head.
	maxPast = 2000
	// DefaultPast is how many versions and revisions are returned if a request does not say it.
	DefaultPast = 20
	// MaxPast is how many are returned at most.
	MaxPast = 200
)

// Past answers which commits of the GitOps branches changed an application, or one of its targets. Git is all that it reads: what
// clusters reported is in the ledger.
type Past struct {
	Loader    *Loader   // required
	Histories Histories // required
}

// PastRequest selects what of an application is asked for.
type PastRequest struct {
	// Request identifies the application. Its GitOpsCommit is the newest commit that is looked at. Default: the head of the branch.
	Request Request
	// Environment is required for versions, and for a target whose name is used in several environments.
	Environment string
	// Target is the name of a target in the Workload, or the one that it has in the fleet. Required for revisions.
	Target string
	// Limit is how many are returned, the newest first. Default: [DefaultPast].
	Limit int
}

// Merge is a commit that a GitOps branch pointed to.
type Merge struct {
	// Commit is the commit of the GitOps branch, Merged its time.
	Commit string    `json:"commit"`
	Merged time.Time `json:"merged"`
	// By is the author of the commit, as it says without proof. Title is the first line of its message.
	By    string `json:"by,omitempty"`
	Title string `json:"title,omitempty"`
	// Build is what was rendered; absent if the files do not say it.
	Build Build `json:"build,omitzero"`
	// Configuration is the commit of the configuration; empty if the merged commits do not name it.
	Configuration string `json:"configuration,omitempty"`
	// Current means that the branch has it now.
	Current bool `json:"current"`
}

// Revision is a commit that changed the files of a target.
type Revision struct {
	Merge
	// Files identifies the files: revisions with the same have the same files. Empty if the commit removed the target.
	Files string `json:"files,omitempty"`
	// Same is the newest older revision with the same files, as after a rollback; empty if there is none among those that were read.
	Same string `json:"same,omitempty"`
}

// TargetPlace is where the manifests of a target are.
type TargetPlace struct {
	Application string `json:"application"`
	Environment string `json:"environment"`
	Target      string `json:"target"`
	// Repository, Branch and Folder are those of the GitOps repository.
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	Folder     string `json:"folder"`
}

// TargetPast are the revisions of a target.
type TargetPast struct {
	TargetPlace
	// Revisions are sorted, the newest first.
	Revisions []Revision `json:"revisions"`
	// More means that there are older ones, or can be: only some of the commits were read.
	More bool `json:"more,omitempty"`
	// Pinned is the pin that the target has; nil if it follows its environment.
	Pinned *PinnedSince `json:"pinned,omitempty"`

	// at has the position of the revision that each commit of the branch has.
	at map[string]int
}

// At returns the position in Revisions of the one that a commit of the branch has. ok is false for other commits.
func (p *TargetPast) At(commit string) (position int, ok bool) {
	position, ok = p.at[commit]
	return position, ok
}

// EnvironmentVersion is a solution version: what a merged commit rendered for an environment of an application.
type EnvironmentVersion struct {
	Merge
	// Targets is how many targets the version has, Changed lists those whose files differ from the version before, at most 100.
	Targets int      `json:"targets"`
	Changed []string `json:"changed"`
}

// EnvironmentPast are the versions of an application in an environment.
type EnvironmentPast struct {
	Application string `json:"application"`
	Environment string `json:"environment"`
	// Repository, Branch and Path are where the manifests are.
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	Path       string `json:"path,omitempty"`
	// Versions are sorted, the newest first.
	Versions []EnvironmentVersion `json:"versions"`
	// More means that there are older ones, or can be: only some of the commits were read.
	More bool `json:"more,omitempty"`
}

// Revisions returns the commits that changed the files of a target: those of its folder, its descriptor and its values.
func (p *Past) Revisions(ctx context.Context, r PastRequest) (*TargetPast, error) {
	a, err := p.application(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Environment, r.Target, err = a.findTarget(r.Environment, r.Target); err != nil {
		return nil, err
	}
	at, err := p.Loader.gitOpsBranch(a, r.Environment)
	if err != nil {
		return nil, err
	}
	root := at.Path
	folder := path.Join(root, a.folderOf(at, r.Environment, r.Target))
	found := &TargetPast{
		TargetPlace: TargetPlace{
			Application: a.Workload.Name, Environment: r.Environment, Target: r.Target, Repository: secret.Redact(at.Repo), Branch: at.Branch, Folder: folder,
		},
		Revisions: []Revision{}, at: map[string]int{},
	}
	commits, more, err := p.commits(ctx, at)
	if err != nil {
		return nil, err
	}
	contents, changed, err := changedAt(ctx, commits, more, folder, tree.OwnFolder(root, r.Target))
	if err != nil {
		return nil, err
	}
	limit := r.limit()
	found.More = more || len(changed) > limit
	for n, i := range changed {
		if n < limit {
			revision, err := commits[i].revision(ctx, root, r.Target, contents[i])
			if err != nil {
				return nil, err
			}
			revision.Current = n == 0
			found.Revisions = append(found.Revisions, revision)
			first := 0
			if n > 0 {
				first = changed[n-1] + 1
			}
			for _, c := range commits[first : i+1] {
				found.at[c.SHA] = n
			}
		}
	}
	if found.Pinned, err = pinnedSince(ctx, a, commits, more, root, r.Target); err != nil {
		return nil, err
	}
	for i := range found.Revisions {
		older := found.Revisions[i+1:]
		if same := slices.IndexFunc(older, func(o Revision) bool { return o.Files == found.Revisions[i].Files && o.Files != "" }); same >= 0 {
			found.Revisions[i].Same = older[same].Commit
		}
	}
	return found, nil
}

// revision describes a commit that changed a target to a content.
func (c PastCommit) revision(ctx context.Context, root, target, content string) (Revision, error) {
	m, err := c.merge(ctx)
	if err != nil || content == "" {
		return Revision{Merge: m}, err
	}
	hash := sha256.Sum256([]byte(content))
	r := Revision{Merge: m, Files: hex.EncodeToString(hash[:8])}
	r.Build, err = c.described(ctx, root, target)
	return r, err
}

// Versions returns the commits that changed what an environment has of the application, as its inventory lists it.
func (p *Past) Versions(ctx context.Context, r PastRequest) (*EnvironmentPast, error) {
	a, err := p.application(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := a.checkEnvironment(r.Environment); err != nil {
		return nil, err
	}
	at, err := p.Loader.gitOpsBranch(a, r.Environment)
	if err != nil {
		return nil, err
	}
	found := &EnvironmentPast{
		Application: a.Workload.Name, Environment: r.Environment, Repository: secret.Redact(at.Repo), Branch: at.Branch, Path: at.Path, Versions: []EnvironmentVersion{},
	}
	commits, more, err := p.commits(ctx, at)
	if err != nil {
		return nil, err
	}
	inventory := tree.InventoryPath(at.Path, a.Workload.Name)
	_, changed, err := changedAt(ctx, commits, more, inventory)
	if err != nil {
		return nil, err
	}
	limit := r.limit()
	found.More = more || len(changed) > limit
	for n, i := range changed[:min(limit, len(changed))] {
		var before *PastCommit
		if i+1 < len(commits) {
			before = &commits[i+1]
		}
		v, err := commits[i].version(ctx, a, at.Path, before)
		if err != nil {
			return nil, err
		}
		v.Current = n == 0
		found.Versions = append(found.Versions, v)
	}
	return found, nil
}

// maxChanged is how many targets of a version are named.
const maxChanged = 100

// version describes a commit that changed an inventory. before is the commit before it; nil if there is none.
func (c PastCommit) version(ctx context.Context, a *Application, root string, before *PastCommit) (EnvironmentVersion, error) {
	v := EnvironmentVersion{Changed: []string{}}
	var err error
	if v.Merge, err = c.merge(ctx); err != nil {
		return v, err
	}
	now, build, err := c.targets(ctx, root, a.Workload.Name)
	if err != nil {
		return v, err
	}
	then := map[string]tree.Recorded{}
	if before != nil {
		if then, _, err = before.targets(ctx, root, a.Workload.Name); err != nil {
			return v, err
		}
	}
	v.Targets = len(now)
	names := map[string]bool{}
	for _, from := range []map[string]tree.Recorded{now, then} {
		for name := range from {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if x, y := now[name], then[name]; (x.Folder != y.Folder || x.Pin != y.Pin || !maps.Equal(x.Files, y.Files)) && len(v.Changed) < maxChanged {
			v.Changed = append(v.Changed, name)
		}
	}
	if v.Build = build; build.Commit != "" {
		return v, nil
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if v.Build, err = c.described(ctx, root, name); err != nil || v.Build.Commit != "" {
			break
		}
	}
	return v, err
}

// targets returns the targets in the inventory of a commit, by name; none if it cannot be read. build is that of the environment if targets are pinned.
func (c PastCommit) targets(ctx context.Context, root, workload string) (all map[string]tree.Recorded, build Build, err error) {
	all = map[string]tree.Recorded{}
	content, err := c.Content.Read(ctx, tree.InventoryPath(root, workload))
	if err != nil || content == nil {
		return all, build, err
	}
	recorded, of, _ := tree.ParseInventory(content, workload) // one that is damaged lists nothing
	for _, t := range recorded {
		all[t.Name] = t
	}
	return all, Build{Commit: commitOf(of.Commit), Version: of.Version, Image: of.ImageTag}, nil
}

func (r PastRequest) limit() int { return min(cmp.Or(max(r.Limit, 0), DefaultPast), MaxPast) }

// application reads the application at the head of its source.
func (p *Past) application(ctx context.Context, r PastRequest) (*Application, error) {
	if r.Request.GitOpsFolder != "" {
		return nil, errors.New("the GitOps repository is a plain folder, which has no history; name a repository")
	}
	return p.Loader.Application(ctx, r.Request, "")
}

// commits returns the commits of a GitOps branch, newest first; none if it does not exist.
func (p *Past) commits(ctx context.Context, at schedule.Location) (commits []PastCommit, more bool, err error) {
	p.Loader.progress("reading the history of branch %s", at.Branch)
	at.Path = ""
	commits, more, err = p.Histories.History(ctx, at, maxPast)
	if errors.Is(err, schedule.ErrNoBranch) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the history of branch %q: %w", at.Branch, err)
	}
	return commits, more, nil
}

// findTarget finds a target of the Workload by its name there, by the one that it has in the fleet, or by WORKLOAD/TARGET.
func (a *Application) findTarget(environment, name string) (in, target string, err error) {
	name = a.ShortTarget(name)
	var found, names []string
	for _, t := range a.Workload.Spec.DeploymentTargets {
		if environment != "" && t.Environment != environment {
			continue
		}
		names = append(names, t.Name)
		if t.Name == name || fleet.TargetName(a.Workload.Name, t.Name) == name {
			found, target = append(found, t.Environment), t.Name
		}
	}
	found = slices.Compact(slices.Sorted(slices.Values(found)))
	switch len(found) {
	case 1:
		return found[0], target, nil
	case 0:
		if environment != "" {
			if err := a.checkEnvironment(environment); err != nil {
				return "", "", err
			}
		}
		unknown := &UnknownTargetError{Workload: a.Workload.Name, Environment: environment, Target: name}
		if near := nearest.Beginning(name, names); near != "" {
			unknown.Near = []string{near}
		}
		return "", "", unknown
	}
	return "", "", fmt.Errorf("the workload %q has the target %q in several environments: %s; name one of them", a.Workload.Name, target, strings.Join(found, ", "))
}

// ShortTarget returns the name of a target in the Workload, without the Workload's name that WORKLOAD/TARGET has.
func (a *Application) ShortTarget(name string) string {
	return strings.TrimPrefix(name, a.Workload.Name+"/")
}

// UnknownTargetError is returned for a target that the Workload does not have.
type UnknownTargetError struct {
	Workload, Environment, Target string
	// Near has a similar name; empty if there is none.
	Near []string
}

// Error names the target, and a similar one.
func (e *UnknownTargetError) Error() string {
	text := fmt.Sprintf("the workload %q has no target %q", e.Workload, secret.Line(e.Target))
	if e.Environment != "" {
		text += " in " + e.Environment
	}
	if len(e.Near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", e.Near[0])
	}
	return text
}

// folderOf returns the folder for a target's manifests, below the path of the GitOps branch.
func (a *Application) folderOf(at schedule.Location, environment, target string) string {
	for folder, name := range a.folders(&GitOps{GitOpsBranch: schedule.GitOpsBranch{Location: at}}, environment) {
		if name == target {
			return folder
		}
	}
	return target
}
