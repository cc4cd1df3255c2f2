package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

// TestCases runs the cases. The inputs of one are
//
//	clusters            a line for each: name, reconciler, and environment/type of each membership, or environment/type/rings
//	1/gitops@dev/...    the files of a repository's branch in the first step; those of step 2 replace them, and so on
//
// and its golden parts are the objects that the first cluster has in the end, and what it has reported of its reconcilers.
func TestCases(t *testing.T) {
	t.Parallel()
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		w := newWorld(t, Config{})
		names := map[string]string{}
		first := ""
		for line := range strings.Lines(c.Text("clusters")) {
			words := strings.Fields(line)
			w.add(words[0], Reconciler(words[1]), words[2:]...)
			first = cmp.Or(first, words[0])
		}
		for step := 1; ; step++ {
			branches := filesOf(c, step)
			if len(branches) == 0 {
				break
			}
			for _, b := range sortedKeys(branches) {
				repo, branch, _ := strings.Cut(b, "@")
				names[w.push(repo, branch, branches[b])] = fmt.Sprintf("<%s in step %d>", b, step)
			}
			w.pass(30 * time.Second)
		}
		c.Golden(t, "objects", readable(w.objects(first), names))
		c.Golden(t, "reports", readable(w.reports(first), names))
	})
}

// filesOf returns the files of a step by repository and branch.
func filesOf(c casetest.Case, step int) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, f := range c.Files {
		rest, ok := strings.CutPrefix(f.Name, fmt.Sprintf("%d/", step))
		branch, path, _ := strings.Cut(rest, "/")
		if !ok {
			continue
		}
		if all[branch] == nil {
			all[branch] = map[string]string{}
		}
		all[branch][path] = string(f.Data)
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// readable puts the names of commits in the place of their hashes.
func readable(text string, names map[string]string) string {
	for hash, name := range names {
		text = strings.ReplaceAll(text, hash, name)
	}
	return text
}

// objects lists what a cluster has, but for what it had from the start.
func (w *world) objects(cluster string) string {
	w.Helper()
	m, err := w.machine(cluster)
	w.must(err)
	var text strings.Builder
	for e := range m.store.sorted() {
		if e.owner != (key{}) {
			fmt.Fprintf(&text, "%s by %s\n", e.key, e.owner.name)
		}
	}
	return text.String()
}

// reports lists what the server knows of the reconcilers of a cluster.
func (w *world) reports(cluster string) string {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	var text strings.Builder
	for _, id := range sortedKeys(w.server.latest) {
		r := w.server.latest[id]
		name, ours := strings.CutPrefix(id, cluster+" ")
		if !ours {
			continue
		}
		fmt.Fprintf(&text, "%s: %s\n", name, r.State)
		fmt.Fprintf(&text, "  follows %s, ref %s, path %q\n", r.Repository, r.Ref, r.Path)
		if r.Revision != "" {
			fmt.Fprintf(&text, "  at %s\n", r.Revision)
		}
		if r.Message != "" {
			fmt.Fprintf(&text, "  says %s\n", r.Message)
		}
	}
	return text.String()
}
