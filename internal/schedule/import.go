package schedule

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// Importer proposes Cluster objects for an environment branch.
type Importer struct {
	Loader    *Loader               // required
	Committer pullrequest.Committer // required
	Forges    pullrequest.Forges    // required
}

// Import is a list of clusters for an environment.
type Import struct {
	// Request has the control plane and the environment. // required
	Request
	// Clusters have different names.
	Clusters []v1alpha1.Cluster
	// Folder has a file for each cluster. It is relative to the folder of the environment. // required
	Folder string
	// Overwrite replaces files with other content.
	Overwrite bool
}

// Imported is what became of an import.
type Imported struct {
	// New and Changed are the paths of the files that the pull request writes, sorted; Unchanged is how many are there already.
	New, Changed []string
	Unchanged    int
	// Elsewhere are clusters that the environment branch has in other files, with these. They are left alone.
	Elsewhere []string
	// PullRequest is open; nil if there is nothing to propose.
	PullRequest *forge.PullRequest
	// Waits says why it is not opened; empty if it is.
	Waits string
	// Did lists what was done, in order.
	Did []string
}

// ErrExists is the error for files that exist with other content.
var ErrExists = errors.New("exists with other content")

// importBranch is the head branch of the pull request.
func importBranch(environment string) string { return "kalypso-clusters/" + environment }

// Import opens the environment's pull request with Cluster objects, or updates it to this list. It withdraws the pull request if the
// environment branch has them all. Nothing is removed. The error wraps [ErrExists] if files have other content.
func (i *Importer) Import(ctx context.Context, m Import) (*Imported, error) {
	at, source, err := i.branch(ctx, m)
	if err != nil {
		return nil, err
	}
	result, put, err := i.compare(ctx, m, at, source)
	if err != nil {
		return nil, err
	}
	pull := &pullrequest.PullRequest{
		Committer: i.Committer, URL: at.Repo, Base: at.Branch, Commit: source.Commit, Time: source.Time,
		Head: importBranch(m.Environment), Name: m.Environment,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return i.Loader.Repositories.Fork(ctx, at, ref, commit)
		},
	}
	if err := pull.Locate(i.Forges); err != nil {
		return nil, fmt.Errorf("find the repository of environment %q: %w", m.Environment, err)
	}
	if err := pull.Find(ctx); err != nil {
		return nil, err
	}
	if len(put) == 0 {
		err = pull.Withdraw(ctx, "The environment branch has all of these clusters.")
	} else {
		err = pull.Propose(ctx, m.proposal(result, put))
	}
	result.PullRequest, result.Waits, result.Did = pull.Open, pull.Waits, pull.Did
	return result, err
}

// branch reads the environment branch at its head.
func (i *Importer) branch(ctx context.Context, m Import) (Location, fleet.Source, error) {
	w := &walk{Loader: i.Loader, request: m.Request}
	at, err := w.findEnvironment(ctx)
	if err != nil {
		return at, fleet.Source{}, err
	}
	source, err := i.Loader.Repositories.Source(ctx, at)
	if err == nil && source.Commit == "" {
		err = errors.New("it is a plain folder, in which nothing can be proposed")
	}
	if err != nil {
		return at, source, fmt.Errorf("read environment %q: %w", m.Environment, err)
	}
	return at, source, nil
}

// compare returns the files that the branch lacks, or has with other content.
func (i *Importer) compare(ctx context.Context, m Import, at Location, source fleet.Source) (*Imported, map[string][]byte, error) {
	at.Commit = source.Commit
	files, err := i.Loader.Repositories.Files(ctx, at)
	if err != nil {
		return nil, nil, fmt.Errorf("read environment %q: %w", m.Environment, err)
	}
	there := make(map[string]fleet.File, len(files))
	for _, f := range files {
		there[f.Path] = f
	}
	listed := map[string]string{}
	for _, c := range fleet.Read(i.Loader.Cache, source).Clusters {
		listed[c.Name] = c.Position.File
	}
	result, put := &Imported{}, map[string][]byte{}
	for k := range m.Clusters {
		c := &m.Clusters[k]
		file, content := path.Join(at.Path, m.Folder, c.Name+".yaml"), fleet.ClusterDocument(c)
		before, exists := there[file]
		if other := listed[c.Name]; other != "" && other != file {
			result.Elsewhere = append(result.Elsewhere, c.Name+" in "+other)
			continue
		}
		if !exists {
			result.New, put[file] = append(result.New, file), content
			continue
		}
		was, err := before.Read()
		if err != nil {
			return nil, nil, fmt.Errorf("read %q: %w", file, err)
		}
		if bytes.Equal(was, content) {
			result.Unchanged++
			continue
		}
		result.Changed, put[file] = append(result.Changed, file), content
	}
	if len(result.Changed) > 0 && !m.Overwrite {
		return nil, nil, fmt.Errorf("%d of %d files: %q %w", len(result.Changed), len(m.Clusters), result.Changed[0], ErrExists)
	}
	return result, put, nil
}

// proposal returns the pull request with the files.
func (m *Import) proposal(r *Imported, put map[string][]byte) pullrequest.Proposal {
	digest := sha256.New()
	for _, file := range slices.Sorted(maps.Keys(put)) {
		fmt.Fprintf(digest, "%q %q\n", file, put[file])
	}
	title := fmt.Sprintf("List %d clusters in %s", len(put), m.Environment)
	if len(put) == 1 {
		title = "List a cluster in " + m.Environment
	}
	return pullrequest.Proposal{
		Put: put, Message: title + "\n", Title: title, Digest: fmt.Sprintf("%x", digest.Sum(nil)),
		Body: func(limit int) string { return forge.Cut(m.body(r), limit) },
	}
}

// body says what merging does.
func (m *Import) body(r *Imported) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merging this lists clusters of environment %s: %d new, %d changed; %d are listed already.\n", markdown.Code(m.Environment), len(r.New), len(r.Changed), r.Unchanged)
	b.WriteString("\nA Cluster changes nothing by itself. Platform configuration that matches its name or labels gives it a folder of its own.\n")
	for _, group := range []struct {
		title string
		files []string
	}{{"New", r.New}, {"Changed", r.Changed}, {"In other files, and left alone", r.Elsewhere}} {
		if len(group.files) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n\n", group.title)
		for _, file := range group.files {
			fmt.Fprintf(&b, "- %s\n", markdown.Code(file))
		}
	}
	b.WriteString("\nIt is updated by the next `kalypso cluster import`, and what others push to its branch is replaced.\n")
	return b.String()
}
