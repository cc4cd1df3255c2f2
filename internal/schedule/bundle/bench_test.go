//go:build unix

package bundle_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// size is the size of a fleet in which every target runs on every cluster type.
type size struct{ targets, clusterTypes int }

func (s size) String() string { return fmt.Sprintf("%dx%d", s.targets, s.clusterTypes) }

func (s size) files() largefleet.Files {
	return largefleet.Generate(largefleet.Spec{Targets: s.targets, ClusterTypes: s.clusterTypes, Layers: 20})
}

// sizes are those of the fleets. SCHEDULE_FLEET=5000x200 measures only a fleet of that size.
var sizes = sizesOr(size{30, 20}, size{100, 20}, size{300, 50}, size{1000, 100})

func sizesOr(usual ...size) []size {
	var s size
	if _, err := fmt.Sscanf(os.Getenv("SCHEDULE_FLEET"), "%dx%d", &s.targets, &s.clusterTypes); err == nil {
		return []size{s}
	}
	return usual
}

// largest is the size that the limits are for.
var largest = sizes[len(sizes)-1]

// BenchmarkBuild builds the tree with its hashes from a snapshot. peak-MB
// is the maximum heap size, sampled during the run.
//
// rules-1000x100 has policies with expressions, scores, spread and capacity that assign the same pairs.
// builtin-1000x100 has the built-in templates, with a service account, a role and a binding for each assignment.
func BenchmarkBuild(b *testing.B) {
	builtIn := largefleet.Generate(largefleet.Spec{Targets: largest.targets, ClusterTypes: largest.clusterTypes, Layers: 20, BuiltIn: true})
	benchmarkBuild(b, "builtin-"+largest.String(), builtIn)
	ruled := largefleet.Generate(largefleet.Spec{Targets: largest.targets, ClusterTypes: largest.clusterTypes, Layers: 20, Rules: true})
	benchmarkBuild(b, "rules-"+largest.String(), ruled)
	for _, size := range sizes {
		benchmarkBuild(b, size.String(), size.files())
	}
	benchmarkBuild(b, "clusters-10000x20", manyClusters)
}

// manyClusters is a fleet of 10,000 clusters, each with a value of its own, and 20 targets that run on all of them.
var manyClusters = largefleet.Generate(largefleet.Spec{Targets: 20, ClusterTypes: 20, Layers: 20, Clusters: 10_000})

func benchmarkBuild(b *testing.B, name string, files largefleet.Files) {
	b.Run(name, func(b *testing.B) {
		s := load(new(fleet.Cache), files)
		peak := watchHeap()
		b.ReportAllocs()
		cpu := watchCPU()
		for b.Loop() {
			built = nil // measure the memory of one run only
			built = bundle.Build(s, nil, nil)
		}
		b.ReportMetric(cpu()/float64(b.N*built.Count()), "cpu-ns/assignment")
		b.ReportMetric(peak(), "peak-MB")
		perAssignment(b, built)
	})
}

// BenchmarkChange changes one configuration value of one cluster type back and forth, and builds the new tree: it
// reads the sources with a warm cache, assembles the snapshot, and builds with the earlier bundle. clusters-10000x20 changes
// the value of one cluster of ten thousand. built-ms is the time of the build without reading, built-cpu-ms the processor time of all cores meanwhile.
func BenchmarkChange(b *testing.B) {
	files := largest.files()
	benchmarkChange(b, largest.String(), files, files.ChangeValue())
	rules := largefleet.Generate(largefleet.Spec{Targets: largest.targets, ClusterTypes: largest.clusterTypes, Layers: 20, Rules: true})
	benchmarkChange(b, "rules-"+largest.String(), rules, rules.ChangeValue())
	benchmarkChange(b, "clusters-10000x20", manyClusters, manyClusters.ChangeCluster())
}

func benchmarkChange(b *testing.B, name string, states ...largefleet.Files) {
	b.Run(name, func(b *testing.B) {
		cache := new(fleet.Cache)
		sources := []sources{sourcesOf(states[0]), sourcesOf(states[1])}
		sources[1].load(cache)
		built = bundle.Build(sources[0].load(cache), nil, nil)
		b.ReportAllocs()
		cpu := watchCPU()
		var building time.Duration
		var computing float64
		for n := 1; b.Loop(); n++ {
			s := sources[n%2].load(cache)
			start, spent := time.Now(), watchCPU()
			built = bundle.Build(s, nil, built)
			building += time.Since(start)
			computing += spent()
		}
		b.ReportMetric(cpu()/float64(b.N), "cpu-ns/op")
		b.ReportMetric(float64(building.Microseconds())/float64(b.N)/1000, "built-ms")
		b.ReportMetric(computing/float64(b.N)/1e6, "built-cpu-ms")
	})
}

// BenchmarkFloor does only what the libraries do for the same files: it executes the templates and hashes the output,
// on all cores like Build. "bare" formats the configuration's YAML for each assignment, as the template does;
// "shared" formats it once.
func BenchmarkFloor(b *testing.B) {
	for _, size := range sizes {
		f := newFloor(load(new(fleet.Cache), size.files()))
		for name, toYAML := range map[string]func(at int) string{
			"bare":   func(at int) string { return marshal(f.data[at].ConfigData) },
			"shared": func(at int) string { return f.yaml[at] },
		} {
			b.Run(size.String()+"/"+name, func(b *testing.B) {
				cpu := watchCPU()
				for b.Loop() {
					f.run(toYAML)
				}
				count := float64(b.N * len(f.data))
				b.ReportMetric(cpu()/count, "cpu-ns/assignment")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/count, "ns/assignment")
			})
		}
	}
}

// watchCPU returns a function that returns the CPU time of all cores since, in nanoseconds. On a busy machine, CPU
// time is more meaningful than elapsed time.
func watchCPU() func() float64 {
	spent := func() float64 {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for the own process
		return float64(u.Utime.Nano() + u.Stime.Nano())
	}
	before := spent()
	return func() float64 { return spent() - before }
}

// built keeps the result alive, so that it is part of the measured memory.
var built *bundle.Bundle

func perAssignment(b *testing.B, of *bundle.Bundle) {
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	count := float64(of.Count())
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/assignment")
	b.ReportMetric(float64(after.HeapAlloc)/count, "heap-B/assignment")
}

// watchHeap samples the heap size until the returned function is called, which returns the maximum in MB.
func watchHeap() func() float64 {
	var most atomic.Uint64
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticks.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.HeapSys-m.HeapReleased))
			}
		}
	})
	return func() float64 {
		close(stop)
		wait.Wait()
		return float64(most.Load()) / (1 << 20)
	}
}

// sources are the files of a fleet.
type sources struct {
	environment string
	main, env   fleet.Source
	workloads   map[string]fleet.Source
}

func sourcesOf(f largefleet.Files) sources {
	s := sources{environment: f.Environment}
	s.main, s.env, s.workloads = f.Sources()
	return s
}

func (s sources) load(cache *fleet.Cache) *fleet.Snapshot {
	in := fleet.Inputs{
		Environment: s.environment,
		Main:        fleet.Read(cache, s.main),
		Branch:      fleet.Read(cache, s.env),
		Workloads:   map[string]fleet.Fetched{},
	}
	for name, source := range s.workloads {
		in.Workloads[name] = fleet.Fetched{Objects: fleet.Read(cache, source)}
	}
	return fleet.Assemble(in)
}

func load(cache *fleet.Cache, f largefleet.Files) *fleet.Snapshot { return sourcesOf(f).load(cache) }

// floor holds the templates and the data of every assignment.
type floor struct {
	templates []*template.Template
	data      []render.Data
	yaml      []string // of the configuration, by assignment
}

func newFloor(s *fleet.Snapshot) *floor {
	f := &floor{}
	for _, t := range s.Templates {
		for _, m := range t.Manifests {
			stand := template.FuncMap{"toYaml": func(any) string { return "" }}
			f.templates = append(f.templates, template.Must(template.New(t.Name).Funcs(sprig.TxtFuncMap()).Funcs(stand).Parse(m.Text)))
		}
	}
	composer, _ := config.NewComposer(s)
	decisions := placement.Decide(s, placement.Options{})
	ready := map[*config.Composed]string{}
	for _, ct := range s.ClusterTypes {
		stack := composer.Stack(ct)
		for _, a := range decisions.For(ct.Name) {
			composed := stack.Compose(a.Target, nil).Composed
			if _, ok := ready[composed]; !ok {
				ready[composed] = marshal(composed.Data)
			}
			data := render.NewData(s.Environment, ct, a.Target)
			data.ConfigData = composed.Data
			f.data = append(f.data, data)
			f.yaml = append(f.yaml, ready[composed])
		}
	}
	return f
}

func marshal(v any) string {
	text, _ := yaml.Marshal(v)
	return strings.TrimSuffix(string(text), "\n")
}

func (f *floor) run(toYAML func(at int) string) {
	var wait sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for core := range cores {
		wait.Go(func() { f.part(core*len(f.data)/cores, (core+1)*len(f.data)/cores, toYAML) })
	}
	wait.Wait()
}

func (f *floor) part(from, to int, toYAML func(at int) string) {
	var at int
	templates := make([]*template.Template, len(f.templates))
	for i, t := range f.templates {
		templates[i] = template.Must(t.Clone()).Funcs(template.FuncMap{"toYaml": func(any) string { return toYAML(at) }})
	}
	var out bytes.Buffer
	for at = from; at < to; at++ {
		for _, t := range templates {
			out.Reset()
			if err := t.Execute(&out, &f.data[at]); err != nil {
				panic(err)
			}
			bundle.HashOf(out.Bytes())
		}
	}
}
