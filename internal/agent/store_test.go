package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStoreKeepsTheQueue(t *testing.T) {
	t.Parallel()
	store := Store{Dir: t.TempDir()}
	q := &Queue{dropped: 3}
	q.Observe(snapshot(report("a", "1", "ready")), noon.Add(123456789*time.Nanosecond))
	q.Observe(snapshot(report("a", "2", "failed"), report("b", "1", "ready")), noon.Add(time.Minute))
	if err := store.save(q, "large-07"); err != nil {
		t.Fatal(err)
	}
	back, err := store.load("large-07")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(q.Next(10), back.Next(10)); diff != "" || back.dropped != 3 {
		t.Errorf("dropped %d, (-want +got):\n%s", back.dropped, diff)
	}
	back.sent(q.Next(10))
	if back.Waiting() != 0 {
		t.Errorf("%d reports wait: a time has changed on its way", back.Waiting())
	}
	if left, _ := filepath.Glob(filepath.Join(store.Dir, ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestStoreStartsEmptyWithAnUnusableFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"half a file":       `{"version":1,"cluster":"a","latest":[{"kind`,
		"another cluster's": `{"version":1,"cluster":"b"}`,
		"another version's": `{"version":2,"cluster":"a"}`,
		"hostile":           `{"version":1,"cluster":"a","latest":[{"kind":"x","name":"y","state":"green"}]}`,
	} {
		store := Store{Dir: t.TempDir()}
		if err := os.WriteFile(store.file(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		q, err := store.load("a")
		if err == nil || !strings.Contains(err.Error(), "the queue starts empty") || q.Waiting() != 0 {
			t.Errorf("%s: got %d reports and %v", name, q.Waiting(), err)
		}
		if kept, err := os.ReadFile(store.file() + ".unusable"); err != nil || string(kept) != text {
			t.Errorf("%s: it is not kept: %v", name, err)
		}
	}
}

func TestStoreWithoutAFolder(t *testing.T) {
	t.Parallel()
	if err := (Store{}).save(&Queue{}, "a"); err != nil {
		t.Error(err)
	}
	if q, err := (Store{}).load("a"); err != nil || q.Waiting() != 0 {
		t.Errorf("got %v", err)
	}
	if err := (Store{Dir: "not/there"}).save(&Queue{}, "a"); err == nil {
		t.Error("got no error for a folder that is not there")
	}
}

func FuzzStore(f *testing.F) {
	f.Add([]byte(`{"version":1,"cluster":"a","latest":[{"kind":"x","name":"y","state":"ready","observed":"2026-11-20T12:00:00Z"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var file stored
		if decodeQueue(data, "a", &file) == nil {
			for _, r := range file.Latest {
				if err := r.Check(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
