//go:build unix

package repository

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// gitOpsFleet is the size of a GitOps branch: GIT_FLEET=200x5000 has three million files.
type gitOpsFleet struct{ clusterTypes, targets int }

// names are the files of an assignment.
var names = [...]string{"namespace.yaml", "platform-config.yaml", "reconciler.yaml"}

func (gitOpsFleet) file(c, t, n, version int) (path string, content []byte) {
	path = fmt.Sprintf("type-%03d/workload-%04d-functional-test/%s", c, t, names[n])
	return path, fmt.Appendf(nil, "apiVersion: v1\nkind: %s\nmetadata:\n  name: t%d-w%d\n  labels:\n    managed-by: kalypso\n    version: v%d\n", names[n], c, t, version)
}

// folder yields the files of a cluster type with its inventory, as package bundle writes it.
func (f gitOpsFleet) folder(c, version int, yield func(path string, content []byte)) {
	readme := fmt.Appendf(nil, "# type %d\n", c)
	yield(fmt.Sprintf("type-%03d/README.md", c), readme)
	inventory := fmt.Appendf(nil, "{\n  \"version\": 1,\n  \"environment\": \"dev\",\n  \"clusterType\": \"type-%03d\",\n  \"readme\": %q,\n  \"sources\": {\n    \"3fa9c1e2\": [\"ConfigMap/dev-config\", \"Template/arc-flux\"]\n  },\n  \"assignments\": {", c, bundle.HashOf(readme).String())
	for t := range f.targets {
		if t > 0 {
			inventory = append(inventory, ',')
		}
		inventory = fmt.Appendf(inventory, "\n    \"workload-%04d-functional-test\": {\"workload\": \"workload-%04d\", \"workspace\": \"team-%d\", \"registration\": \"workload-%04d\", \"policies\": [\"all\"], \"sources\": \"3fa9c1e2\", \"files\": {", t, t, t%20, t)
		for n := range names {
			changed := version
			if n != 1 {
				changed = 0
			}
			path, content := f.file(c, t, n, changed)
			yield(path, content)
			if n > 0 {
				inventory = append(inventory, ", "...)
			}
			inventory = fmt.Appendf(inventory, "%q: %q", names[n], bundle.HashOf(content).String())
		}
		inventory = append(inventory, "}}"...)
	}
	yield(fmt.Sprintf(".kalypso/inventory/type-%03d.json", c), append(inventory, "\n  }\n}\n"...))
}

// create makes a bare repository with the branch, one commit for each cluster type, so that git does not need much memory for them.
func (f gitOpsFleet) create(b *testing.B, dir string) {
	b.Helper()
	if out, err := exec.Command("git", "init", "-q", "--bare", "-b", "dev", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(b.Context(), "git", "-C", dir, "fast-import", "--quiet", "--depth=0")
	stream, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(stream)
	for c := range f.clusterTypes {
		fmt.Fprintf(w, "commit refs/heads/dev\ncommitter A <a@example.com> %d +0000\ndata 1\nx\n", 1700000000+c)
		f.folder(c, 0, func(path string, content []byte) {
			fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
		})
	}
	if err := errors.Join(w.Flush(), stream.Close(), cmd.Wait()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkGitOpsBranch reads a GitOps branch, and writes the folder of a cluster type: in a new process, and in one that read the branch
// before another folder changed. GIT_FLEET is its size, GIT_FLEET_DIR a folder that keeps its repository.
func BenchmarkGitOpsBranch(b *testing.B) {
	if testing.Short() {
		b.Skip("it makes a large repository")
	}
	f := gitOpsFleet{100, 334}
	_, _ = fmt.Sscanf(os.Getenv("GIT_FLEET"), "%dx%d", &f.clusterTypes, &f.targets)
	dir := filepath.Join(b.TempDir(), "gitops")
	if kept := os.Getenv("GIT_FLEET_DIR"); kept != "" {
		dir = filepath.Join(kept, fmt.Sprintf("%dx%d.git", f.clusterTypes, f.targets))
	}
	if _, err := os.Stat(dir); err != nil {
		f.create(b, dir)
	}
	read := func(b *testing.B, client *git.Client, before *bundle.Published) (*bundle.Published, string) {
		b.Helper()
		branch, head, err := NewReader(client).GitOps(b.Context(), schedule.Location{Repo: dir, Branch: "dev"})
		if err != nil {
			b.Fatal(err)
		}
		branch.Before = before
		p, err := bundle.ReadPublished(branch, "dev", nil, nil)
		if err != nil || p.Count() != f.clusterTypes*f.targets || len(p.Drift)+len(p.Problems) > 0 {
			b.Fatal(err, p.Count(), len(p.Drift), p.Problems)
		}
		return p, head.Commit
	}
	version := int(time.Now().Unix())
	write := func(b *testing.B, client *git.Client, c int, parent string) {
		b.Helper()
		version++
		put := map[string][]byte{}
		f.folder(c, version, func(path string, content []byte) { put[path] = content })
		committer := Committer{Client: client, Author: git.Person{Name: "A", Email: "a@example.com"}}
		commit, err := committer.Commit(b.Context(), pullrequest.Commit{
			Repo: dir, Branch: "dev", Parent: parent, Put: put, Message: "change", When: time.Unix(1800000000, 0),
		})
		if err == nil {
			err = committer.Push(b.Context(), dir, "dev", parent, commit)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	fresh := func() *git.Client { return &git.Client{Env: func(string) string { return "" }} }
	b.Run("new-process", func(b *testing.B) {
		var spent time.Duration
		for b.Loop() {
			begun, client := processorTime(b), fresh()
			_, head := read(b, client, nil)
			write(b, client, 1, head)
			_ = client.Close()
			spent += processorTime(b) - begun
		}
		b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "cpu-ms/op")
	})
	client := fresh()
	defer client.Close()
	before, head := read(b, client, nil)
	b.Run("known", func(b *testing.B) {
		var spent time.Duration
		for b.Loop() {
			b.StopTimer()
			write(b, fresh(), 0, head)
			b.StartTimer()
			begun := processorTime(b)
			before, head = read(b, client, before)
			write(b, client, 1, head)
			spent += processorTime(b) - begun
			b.StopTimer()
			before, head = read(b, client, before)
			b.StartTimer()
		}
		b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "cpu-ms/op")
	})
}

// processorTime returns what this process has needed: other programs can keep the cores busy.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
