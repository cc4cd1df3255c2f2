package git

import (
	"encoding/hex"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A few trees that have one another many times describe more files and folders than can be listed.
func TestTreesThatCannotBeListedAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		leaf, folder string
		times        int
	}{
		"many files":          {"100644 f", "f", 100},
		"empty folders":       {"", "f", 2},
		"paths that are long": {"100644 f", strings.Repeat("f", 240), 3},
	} {
		t.Run(name, func(t *testing.T) {
			made := newRepo(t, map[string]string{"a": "1"})
			hash, _ := hex.DecodeString(made.git("rev-parse", "HEAD:a"))
			content := ""
			if tt.leaf != "" {
				content = tt.leaf + "\x00" + string(hash)
			}
			id := writeTree(made, content)
			for range 40 {
				hash, _ = hex.DecodeString(id)
				var b strings.Builder
				for i := range tt.times {
					fmt.Fprintf(&b, "40000 %s%03d\x00%s", tt.folder, i, hash)
				}
				id = writeTree(made, b.String())
			}
			commit := made.git("commit-tree", "-m", "hostile", id)
			made.git("update-ref", "refs/heads/main", commit)
			r := open(t, newClient(t, nil), made.dir)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := r.Tree(resolve(t, r, "main", "")).Files(t.Context(), "")
			runtime.ReadMemStats(&after)
			wantKind(t, err, ErrTooLarge, "more than 1048576 files and folders")
			if took := after.TotalAlloc - before.TotalAlloc; took > 400<<20 {
				t.Errorf("%d MB were allocated", took>>20)
			}
		})
	}
}

// writeTree writes a tree and returns its hash.
func writeTree(r *testRepo, content string) string {
	writeFiles(r.t, r.dir, map[string]string{".git/tree": content})
	return r.git("hash-object", "-t", "tree", "-w", "--literally", ".git/tree")
}
