package sandbox

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestFindBox(t *testing.T) {
	memory := "MemTotal:        8000000 kB\nMemFree:         1 kB\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  Box
	}{
		"a container": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n", "proc/meminfo": memory}, Box{1 << 30, "the control group"}},
		"a group below a lower one": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1000000000\n", "sys/fs/cgroup/a/b/memory.max": "2000000000\n",
		}, Box{1000000000, "the control group"}},
		"the group has no limit": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "proc/meminfo": memory}, Box{8000000 << 10, "the machine"}},
		"version 1, the path of the host": {map[string]string{
			"proc/self/cgroup": "8:cpu:/x\n4:memory:/docker/1234\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
		}, Box{512 << 20, "the control group"}},
		"version 1 without a limit": {map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "proc/meminfo": memory,
		}, Box{8000000 << 10, "the machine"}},
		"another system": {nil, Box{}},
	} {
		files := fstest.MapFS{}
		for path, content := range tc.files {
			files[path] = &fstest.MapFile{Data: []byte(content)}
		}
		if diff := cmp.Diff(tc.want, findBox(files)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// The parts of a box never are more than the box.
func TestPartsOfABox(t *testing.T) {
	for memory, want := range map[int64]struct{ size, each int64 }{
		0: {4, 1024}, 512 << 20: {1, 160}, 1 << 30: {1, 307}, 2 << 30: {2, 307}, 4 << 30: {4, 307}, 8 << 30: {4, 614}, 64 << 30: {4, 1024},
	} {
		var p Pool
		Box{Memory: memory}.Fit(&p)
		limits := (&Runner{Pool: &p}).limits()
		if int64(p.size()) != want.size || limits.Memory>>20 != want.each {
			t.Errorf("%d MiB: %d renderers with %d MiB, want %d with %d", memory>>20, p.size(), limits.Memory>>20, want.size, want.each)
		}
		if all := (Box{Memory: memory}).Server() + int64(p.size())*limits.Memory; memory > 0 && all > memory {
			t.Errorf("%d MiB: the parts are %d", memory>>20, all>>20)
		}
	}
}

func TestMemoryOfTheEnvironment(t *testing.T) {
	if b, err := FindBox(map[string]string{MemoryVariable: "1Gi"}); err != nil || b.Memory != 1<<30 {
		t.Errorf("got %v, %v", b, err)
	}
	for _, text := range []string{"1", "much", "-1Gi", "200Mi"} {
		if b, err := FindBox(map[string]string{MemoryVariable: text}); err == nil {
			t.Errorf("%s: got %v", text, b)
		}
	}
}
