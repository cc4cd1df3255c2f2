package git

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// branchSize returns the number of cluster types and targets of the benchmarks' branch: GIT_FLEET=200x5000 has three million files.
func branchSize() (clusterTypes, targets int) {
	if _, err := fmt.Sscanf(os.Getenv("GIT_FLEET"), "%dx%d", &clusterTypes, &targets); err == nil {
		return clusterTypes, targets
	}
	return 100, 334
}

// fleetFiles returns the files of a GitOps branch: an inventory and a README for each cluster type,
// and three files in a separate folder for each assignment.
func fleetFiles(clusterTypes, targets int) map[string][]byte {
	files := map[string][]byte{}
	for c := range clusterTypes {
		files[fmt.Sprintf("type-%d/README.md", c)] = fmt.Appendf(nil, "# type %d\n", c)
		for t := range targets {
			for _, name := range []string{"namespace", "platform-config", "reconciler"} {
				files[fmt.Sprintf("type-%d/workload-%d-functional-test/%s.yaml", c, t, name)] = fmt.Appendf(nil, "kind: %s\nmetadata:\n  name: t%d-w%d\n", name, c, t)
			}
		}
	}
	return files
}

// largeRepo returns the folder of a bare repository with a large branch.
func largeRepo(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	c := cache{base: dir + "/large"}
	if err := c.reset(); err != nil {
		b.Fatal(err)
	}
	client := &Client{Env: func(string) string { return "" }}
	defer client.Close()
	r, err := client.Open(context.Background(), c.dir())
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	commit, err := r.Commit(context.Background(), CommitRequest{Put: fleetFiles(branchSize()), Message: "all", Author: ann, When: noon})
	if err == nil {
		err = r.Push(context.Background(), "main", "", commit)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("committed in %v", time.Since(start))
	return c.dir()
}

// BenchmarkFiles lists 100,300 files in 33,500 folders: "first" with nothing cached, "again" in the same client,
// "one-folder" writes the folder of a cluster type and lists all files after that.
func BenchmarkFiles(b *testing.B) {
	if testing.Short() {
		b.Skip("it makes a large repository")
	}
	dir := largeRepo(b)
	clusterTypes, targets := branchSize()
	list := func(b *testing.B, r *Repository, branch string) {
		c, err := r.Resolve(b.Context(), branch, "")
		if err != nil {
			b.Fatal(err)
		}
		entries, err := r.Tree(c).Files(b.Context(), "")
		if err != nil || len(entries) < 3*clusterTypes*targets {
			b.Fatal(len(entries), err)
		}
	}
	fresh := func(b *testing.B) (*Client, *Repository) {
		client := &Client{Env: func(string) string { return "" }}
		r, err := client.Open(b.Context(), dir)
		if err != nil {
			b.Fatal(err)
		}
		return client, r
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			client, r := fresh(b)
			list(b, r, "main")
			_ = client.Close()
		}
	})
	client, r := fresh(b)
	defer client.Close()
	list(b, r, "main")
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			list(b, r, "main")
		}
	})
	base, err := r.Resolve(b.Context(), "main", "")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("commit-one-file", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			request := CommitRequest{Parent: base, Message: "one", Author: ann, When: noon}
			request.Put = map[string][]byte{"type-7/workload-7-functional-test/namespace.yaml": fmt.Appendf(nil, "changed: %d\n", i)}
			if _, err := r.Commit(b.Context(), request); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("one-folder", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			request := CommitRequest{Parent: base, Message: "folder", Author: ann, When: noon, Put: map[string][]byte{}}
			for t := range targets {
				request.Put[fmt.Sprintf("type-7/workload-%d-functional-test/platform-config.yaml", t)] = fmt.Appendf(nil, "changed: %d in %d\n", i, t)
			}
			commit, err := r.Commit(b.Context(), request)
			if err != nil {
				b.Fatal(err)
			}
			if entries, err := r.Tree(commit).Files(b.Context(), ""); err != nil || len(entries) < 3*clusterTypes*targets {
				b.Fatal(len(entries), err)
			}
		}
	})
}
