package git

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// openFiles returns the number of open file descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list open files")
	}
	return len(files)
}

// TestFilesDoNotStayOpen reads many loose objects and many packs, without the collector, which would close lost files.
func TestFilesDoNotStayOpen(t *testing.T) {
	made := newRepo(t, nil)
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("loose/%d", i)] = fmt.Sprint("loose ", i)
	}
	for i := range 40 {
		made.commit("pack", map[string]string{fmt.Sprintf("packed/%d", i): fmt.Sprint("packed ", i)})
		made.git("repack", "-q", "-d")
	}
	made.commit("loose", files)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	c := &Client{Env: func(string) string { return "" }}
	defer c.Close()
	before := openFiles(t)
	r, err := c.Open(t.Context(), made.dir)
	if err != nil {
		t.Fatal(err)
	}
	head, err := r.Resolve(t.Context(), "main", "")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := r.Tree(head).Files(t.Context(), "")
	if err != nil || len(entries) != 140 {
		t.Fatalf("%d files: %v", len(entries), err)
	}
	for range 2 {
		for _, e := range entries {
			if _, err := r.Tree(head).Read(t.Context(), e, 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	if more := openFiles(t) - before; more > maxOpenPacks+4 {
		t.Errorf("%d files stay open", more)
	}
}
