package schedule

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet/sweeptest"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// styles has values in every style that people write them in.
const styles = `# Values of all clusters.
apiVersion: v1
kind: ConfigMap
metadata: {name: styles, labels: {platform-config: "true"}}
data:
  PLAIN:   one   # why
  QUOTED: 'two'
  a.dotted: three

  LITERAL: |
      # who
      level: debug
      hosts:
      - name: west   # first
        port: 80
      - name: east
        zones: [a, b]
      - 5

      more:
        deep: x
  STRIPPED: |-
    a: 1
    "b.c": 2
  JSON: '{"a": {"b": 1}, "list": [{"name": "x", "v": 1}, {"v": 2}]}'
  ESCAPED: "a: 1\nb: 2\n"
  LIST: |
    - name: x
      v: 1
    - name: y
      v: 2
  FLOW: "{a: 1, b: {c: 2}}"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inline, labels: {platform-config: "true"}}
data: {IN: one, MAP: "a: 1", YES: "no"}   # one line
`

// Every path that explain prints can be set: it is read back, and only lines of the value change. It tries a sample
// of the paths.
func TestEveryExplainedPathCanBeSet(t *testing.T) {
	const file = "control-plane/dev/styles.yaml"
	s := helloFleet(t, map[string]string{file: styles})
	keys := s.keys(t)
	if len(keys) < 30 {
		t.Fatalf("there are only %d keys: %q", len(keys), slices.Sorted(maps.Keys(keys)))
	}
	others := structures(s.load(t, Request{Environment: "dev"}).Snapshot, "styles")
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(keys)), func(path string) bool { return keys[path].From.Position.File != "styles.yaml" })
	for _, n := range sweeptest.Points(t, len(paths)) {
		path, key := paths[n], keys[paths[n]]
		for _, value := range []string{"w9", "yes", "a, {b}", "7"} {
			want := value
			if strings.Contains(value, "{") && strings.ContainsAny(path, ".[") && path != "a.dotted" {
				value = `"` + value + `"` // in maps, it is YAML
			}
			is, err := setData([]byte(styles), 0, SetRequest{ConfigMap: key.From.ConfigMap, Values: []SetValue{{Key: path, Text: value}}}, others)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			after := helloFleet(t, map[string]string{file: string(is)})
			if got := after.keys(t)[path].Value; got != want && !strings.HasSuffix(path, "[west].name") && !strings.HasSuffix(path, "].name") {
				t.Errorf("%s is %q, want %q in\n%s", path, got, want, is)
			}
			was, now := strings.Split(styles, "\n"), strings.Split(string(is), "\n")
			if len(was) != len(now) {
				t.Errorf("%s: %d lines became %d:\n%s", path, len(was), len(now), is)
				continue
			}
			for i := range was {
				if was[i] != now[i] && i+1 != key.From.Position.Line && !strings.Contains(was[i], "ESCAPED") {
					t.Errorf("%s, of line %d, changes line %d: %q -> %q", path, key.From.Position.Line, i+1, was[i], now[i])
				}
			}
		}
	}
}

// keys returns what explain prints about the configuration of a target.
func (s *shelf) keys(t *testing.T) map[string]config.Key {
	t.Helper()
	e, err := Explain(s.unpublished(t, "dev"), Question{Target: "hello-world-app/functional-test", ClusterType: "drone", Key: "*"})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]config.Key{}
	for _, k := range e.Pairs[0].Config {
		keys[k.Path] = k
	}
	return keys
}

// A path can lead into a map that only another ConfigMap has, but not into a map that no ConfigMap has.
func TestSetBelowTheValuesOfOthers(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata:\n  A: x\n"
	others := map[string]bool{"MAP": true, "LIST": true}
	for _, test := range []struct{ key, want, err string }{
		{key: "MAP.a.b", want: text + "  MAP: |\n    a:\n      b: 1\n"},
		{key: "LIST[x].v", want: text + "  LIST: |\n    - name: x\n      v: 1\n"},
		{key: "NEW.a", want: text + "  NEW.a: \"1\"\n"},
		{key: "LIST[0].v", err: "LIST[0].v: other ConfigMaps have LIST, too, and the elements of all are numbered together; write it by hand"},
		{key: "NEW[x]", err: `"NEW[x]" cannot be a key of a ConfigMap, and no ConfigMap has a map or list that it leads into`},
		{key: "A.b", err: "A: line 1: it is not a map"},
	} {
		got, err := setData([]byte(text), 0, SetRequest{ConfigMap: "own", Values: []SetValue{{Key: test.key, Text: "1"}}}, others)
		if test.err != "" && (err == nil || err.Error() != test.err) || test.err == "" && string(got) != test.want {
			t.Errorf("%s: got %v and\n%s\nwant %s%s", test.key, err, got, test.want, test.err)
		}
	}
}
