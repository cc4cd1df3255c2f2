package garbage

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestMain is also a program that needs more and more memory, and says when it collected garbage as usual.
func TestMain(m *testing.M) {
	switch os.Getenv("GARBAGE_TEST") {
	case "":
		os.Exit(m.Run())
	case "usual":
		Usual()
	}
	var heap [][]byte
	for range 800 {
		heap = append(heap, make([]byte, 1<<20))
	}
	runtime.KeepAlive(heap)
}

// collections runs the program, and returns the sizes of its heap, in MB, at which garbage was collected.
func collections(t *testing.T, env ...string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(cmd.Environ(), append(env, "GODEBUG=gctrace=1")...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var sizes []string
	for _, found := range regexp.MustCompile(`(?m)^gc .* (\d+)->\d+->\d+ MB`).FindAllStringSubmatch(string(out), -1) {
		sizes = append(sizes, found[1])
	}
	return sizes
}

func TestCollectionsAreFewWithoutBeingUsual(t *testing.T) {
	if found := collections(t, "GARBAGE_TEST=later"); len(found) == 0 || len(found) > 6 || len(found[0]) < 3 {
		t.Errorf("garbage is collected at %s MB, want the first collection above 100 MB, and a few", strings.Join(found, ", "))
	}
	for _, env := range [][]string{{"GARBAGE_TEST=usual"}, {"GARBAGE_TEST=later", "GOGC=100"}} {
		if found := collections(t, env...); len(found) < 7 || len(found[0]) > 1 {
			t.Errorf("with %s, garbage is collected at %s MB, want collections from a few MB on", env, strings.Join(found, ", "))
		}
	}
}

func TestPercent(t *testing.T) {
	for _, test := range []struct {
		live uint64
		want int
	}{
		{0, 3200},
		{1 << 20, 3200},
		{64 << 20, 300},
		{128 << 20, 200},
		{256 << 20, 100},
		{1 << 30, 100},
	} {
		if got := percent(test.live); got != test.want {
			t.Errorf("with %d MB of live memory, it may grow by %d %%, want %d", test.live>>20, got, test.want)
		}
	}
}
