package wiring

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// newLargeWorld returns a generated fleet on the local forge, published.
// Workloads are folders of one repository, because the number of repositories only affects fetching, which is not measured.
func newLargeWorld(b *testing.B, spec largefleet.Spec) (*world, largefleet.Files) {
	b.Helper()
	if testing.Short() {
		b.Skip("it makes large repositories")
	}
	w := newEmptyWorld(b)
	for _, name := range []string{"control-plane", "platform-gitops", "apps"} {
		w.Create(name)
	}
	files := largefleet.Generate(spec)
	workload := regexp.MustCompile(`repo: \.\./apps/(\S+)\n(.*)\n(\s*)path: \.`)
	for path, content := range files.Main {
		files.Main[path] = workload.ReplaceAllString(content, "repo: ../apps\n$2\n${3}path: $1")
	}
	apps := map[string]string{}
	for name, workload := range files.Workloads {
		for path, content := range workload {
			apps[name+"/"+path] = content
		}
	}
	w.Push("platform/apps", "main", apps)
	w.Push(fleettest.ControlPlane, "main", files.Main)
	w.Push(fleettest.ControlPlane, "dev", files.Env)
	first := w.round("dev")
	if got, want := first.Plan.Counts.Added, max(spec.Targets, 1)*spec.ClusterTypes; got != want {
		b.Fatalf("%d assignments, want %d; problems: %v", got, want, first.Plan.Problems)
	}
	repo := w.Repo("platform/platform-gitops")
	if _, err := repo.MergePullRequest(b.Context(), first.PullRequest.Number, forge.Merge{Head: first.PullRequest.Head.Commit}); err != nil {
		b.Fatal(err)
	}
	w.round("dev")
	return w, files
}

// fleet10000 has 10,000 assignments.
var fleet10000 = largefleet.Spec{Targets: 500, ClusterTypes: 20}

// BenchmarkRoundWithNothingToDo has 10,000 assignments, or as many as ROUND_FLEET, such as 1000x100.
func BenchmarkRoundWithNothingToDo(b *testing.B) {
	spec := fleet10000
	_, _ = fmt.Sscanf(os.Getenv("ROUND_FLEET"), "%dx%d", &spec.Targets, &spec.ClusterTypes)
	w, _ := newLargeWorld(b, spec)
	for b.Loop() {
		if o := w.round("dev"); len(o.Did) > 0 {
			b.Fatal(o.Did)
		}
	}
}

// BenchmarkRoundOfOneValue measures the time from a push to the control plane until the pull request is up to date.
func BenchmarkRoundOfOneValue(b *testing.B) {
	w, files := newLargeWorld(b, fleet10000)
	changed := files.ChangeValue()
	var path string
	for p, content := range files.Env {
		if changed.Env[p] != content {
			path = p
		}
	}
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		w.Push(fleettest.ControlPlane, "dev", map[string]string{path: strings.TrimSuffix(changed.Env[path], "\n") + fmt.Sprint(n, "\n")})
		b.StartTimer()
		if o := w.round("dev"); len(o.Did) == 0 || o.Plan.Counts.Changed != 500 {
			b.Fatal(o.Did, o.Plan.Counts)
		}
	}
}

// BenchmarkReadingALargeGitOpsBranch reads 102,000 files in 34,000 folders after one of them changed, without knowing the others.
func BenchmarkReadingALargeGitOpsBranch(b *testing.B) {
	w, _ := newLargeWorld(b, largefleet.Spec{Targets: 1000, ClusterTypes: 34})
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		w.Push("platform/platform-gitops", "dev", map[string]string{"notes.md": fmt.Sprint(n)})
		loader := w.flows.plane("").Loader()
		loaded, err := loader.Load(b.Context(), schedule.Request{ControlPlane: w.URL + "/" + fleettest.ControlPlane, Environment: "dev"})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := loader.GitOps(b.Context(), loaded, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHundredEnvironments runs the example fleet in a hundred environments, and measures the resources of the process.
func BenchmarkHundredEnvironments(b *testing.B) {
	if testing.Short() {
		b.Skip("it makes many environments")
	}
	w := newEmptyWorld(b)
	for _, name := range fleettest.Repositories {
		w.Create(name)
	}
	w.PushExample()
	environments := w.environments(100)
	for b.Loop() {
		for _, name := range environments {
			if o := w.round(name); o.Plan.Counts.Added != 10 {
				b.Fatal(name, o.Plan.Counts, o.Plan.Problems)
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys-m.HeapReleased)/1e6, "MB-of-the-system")
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-kept")
	runtime.KeepAlive(w)
}

// environments copies the environment dev, and returns the names of the copies.
func (w *world) environments(n int) []string {
	w.Helper()
	env := w.Files(fleettest.ControlPlane, "dev")
	object := w.Files(fleettest.ControlPlane, "main")[".environments/dev.yaml"]
	var names []string
	for i := range n {
		name := fmt.Sprintf("dev-%02d", i)
		names = append(names, name)
		gitops := strings.ReplaceAll(env["gitops-repo.yaml"], "branch: dev", "branch: "+name)
		files := map[string]string{"gitops-repo.yaml": gitops}
		for path, content := range env {
			if path != "gitops-repo.yaml" {
				files[path] = content
			}
		}
		w.Push(fleettest.ControlPlane, name, files)
		w.Push(fleettest.ControlPlane, "main", map[string]string{".environments/" + name + ".yaml": strings.ReplaceAll(object, "dev", name)})
	}
	for _, file := range [][2]string{
		{"platform/hello-world-app", "workload/workload.yaml"},
		{"platform/platform-services", "nginx/workload.yaml"},
		{"platform/platform-services", "prometheus/workload.yaml"},
	} {
		w.Push(file[0], "main", map[string]string{file[1]: withTargets(w.Files(file[0], "main")[file[1]], names)})
	}
	return names
}

// withTargets adds a workload's targets in dev to other environments.
func withTargets(workload string, environments []string) string {
	const begin = "    - name: "
	parts := strings.Split(workload, begin)
	for _, target := range parts[1:] {
		if !strings.Contains(target, "environment: dev\n") {
			continue
		}
		name, rest, _ := strings.Cut(strings.TrimRight(target, "\n")+"\n", "\n")
		for _, environment := range environments {
			parts = append(parts, name+"-"+environment+"\n"+strings.Replace(rest, "environment: dev\n", "environment: "+environment+"\n", 1))
		}
	}
	parts[0] = strings.TrimRight(parts[0], "\n") + "\n"
	return strings.Join(parts, begin)
}
