package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
)

// TestMain also runs the program's command, like kalypso.
func TestMain(m *testing.M) {
	sandbox.Main(os.Args[1:])
	os.Exit(m.Run())
}

func job(template string, targets ...string) *chart.Job {
	j := &chart.Job{
		Form: chart.FormChart,
		Files: []chart.File{
			{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: hello\nversion: 0.1.0\n")},
			{Path: "templates/x.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {x: \"" + template + "\"}\n")},
		},
	}
	for _, name := range targets {
		j.Targets = append(j.Targets, chart.Target{Name: name, Set: []string{"name=" + name}, Options: chart.Options{Release: "r"}})
	}
	return j
}

// keeping keeps a quarter of a gigabyte in the target "bad", which is less work than its meter permits.
const keeping = `{{ $l := list }}{{ $a := repeat 1000000 "a" }}{{ if eq .Values.name "bad" }}{{ range until 250 }}{{ $l = append $l (upper $a) }}{{ end }}{{ end }}{{ .Values.name }}`

// A result is the same as in this process, and known targets are not rendered again.
func TestRender(t *testing.T) {
	j := job("{{ .Values.name }}", "a", "b")
	r := sandbox.Runner{}
	got, err := r.Render(context.Background(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(engine.Run(j, nil), got); diff != "" {
		t.Errorf("-here +there:\n%s", diff)
	}
	r.Program = "nowhere" // nothing is left to render
	again, err := r.Render(context.Background(), j, got)
	if diff := cmp.Diff(got, again); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

// A target that uses up all memory ends its process, and the others are rendered.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no limit of memory here")
	}
	r := sandbox.Runner{Limits: sandbox.Limits{Memory: enough, Time: 5 * time.Minute}}
	got, err := r.Render(context.Background(), job(keeping, "a", "b", "bad", "c", "d"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range got.Targets {
		bad := target.Name == "bad"
		if (target.Manifests == nil) != bad {
			t.Errorf("%s: %v", target.Name, target.Problems)
		}
		if bad && !endedForMemory(target) {
			t.Errorf("got %v", target.Problems)
		}
	}
	// If all of them do, rendering ends soon.
	all := job(strings.Replace(keeping, `"bad"`, ".Values.name", 1), "a", "b", "c", "d", "e", "f", "g", "h")
	got, err = r.Render(context.Background(), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range got.Targets {
		if !endedForMemory(target) {
			t.Errorf("%s: got %v", target.Name, target.Problems)
		}
	}
}

// endedForMemory also accepts the race detector's way of ending the process, which prints nothing.
func endedForMemory(r chart.Rendered) bool {
	said := fmt.Sprint(r.Problems)
	return strings.Contains(said, "rendering needs more than") || strings.Contains(said, "ended early: exit status 66")
}

// A process that does not end is killed.
func TestTime(t *testing.T) {
	slow := job("x", "a") // starting the process takes longer
	r := sandbox.Runner{Limits: sandbox.Limits{Time: 5 * time.Millisecond}}
	got, err := r.Render(context.Background(), slow, nil)
	if err != nil || !strings.Contains(fmt.Sprint(got.Targets[0].Problems), "takes longer than 5ms") {
		t.Errorf("got %v and %v", got, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Render(ctx, slow, nil); err == nil || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
}

// If the program cannot be started, every target has a problem that says so.
func TestNoProgram(t *testing.T) {
	r := sandbox.Runner{Program: "/nowhere/kalypso"}
	got, err := r.Render(context.Background(), job("x", "a", "b"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range got.Targets {
		if !strings.Contains(fmt.Sprint(target.Problems), "start the process that renders") {
			t.Errorf("got %v", target.Problems)
		}
	}
}

// BenchmarkRender measures a process for one small target.
func BenchmarkRender(b *testing.B) {
	j, r := job("{{ .Values.name }}", "a"), sandbox.Runner{}
	for b.Loop() {
		if _, err := r.Render(context.Background(), j, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// A chart that keeps a processor busy is ended by the system, and costs one attempt, however many targets it has.
func TestProcessor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no limit of processor time here")
	}
	// What the meter does not see: a chart with thousands of values, copied for each of thousands of texts.
	busy := job(`{{ range until 1000 }}{{ range until 100 }}{{ tpl "x" $ }}{{ end }}{{ end }}`, "a", "b", "c", "d", "e", "f", "g", "h")
	pool := &sandbox.Pool{}
	r := sandbox.Runner{Pool: pool, Limits: sandbox.Limits{Processor: time.Nanosecond, Time: 5 * time.Minute}}
	got, err := r.Render(context.Background(), busy, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range got.Targets {
		if said := fmt.Sprint(target.Problems); !strings.Contains(said, "of a processor: look for templates that do not come to an end") {
			t.Errorf("%s: got %s", target.Name, said)
		}
	}
	if pool.Started() != 1 {
		t.Errorf("it was tried %d times", pool.Started())
	}
}
