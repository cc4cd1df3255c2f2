package record_test

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/record"
)

// The sizes of the benchmarks: 50 x 660 assignments of three files each are 99,000 files in 33,000 folders.
const (
	benchTypes   = 50
	benchTargets = 660
)

func benchNames() []string {
	var names []string
	for i := range benchTargets {
		names = append(names, fmt.Sprintf("shop-%d", i))
	}
	return names
}

// fleetFiles are the files of a platform branch.
func fleetFiles() map[string]string {
	files := map[string]string{tracking: promoted}
	for c := range benchTypes {
		clusterType := fmt.Sprintf("type-%d", c)
		for _, name := range benchNames() {
			for _, file := range []string{"namespace", "platform-config", "reconciler"} {
				files[clusterType+"/"+name+"/"+file+".yaml"] = "kind: " + file + clusterType + name + "\n"
			}
		}
		files[".kalypso/inventory/"+clusterType+".json"] = inventory("dev", clusterType, benchNames()...)
	}
	return files
}

// applicationFiles are the files of an application branch that is as large; every hundredth folder has a descriptor.
func applicationFiles() map[string]string {
	files := map[string]string{}
	for i := range benchTypes * benchTargets {
		folder := fmt.Sprintf("group-%d/target-%d/", i%benchTypes, i)
		for _, file := range []string{"deployment", "service", "config"} {
			files[folder+file+".yaml"] = "kind: " + file + folder + "\n"
		}
		if i%100 == 0 {
			files[folder+"descriptor.yaml"] = descriptor("dev", fmt.Sprintf("target-%d", i), "1")
		}
	}
	return files
}

// BenchmarkBranch records branches of 100,000 files: nothing changed; one inventory or descriptor changed, with the memory of
// the commit before and without; and the first look.
func BenchmarkBranch(b *testing.B) {
	if testing.Short() {
		b.Skip("it makes large repositories")
	}
	for _, kind := range []struct {
		name   string
		branch record.Branch
		files  map[string]string
		change func(i int) map[string]string
	}{
		{"platform", platform("dev"), fleetFiles(), func(i int) map[string]string {
			return map[string]string{
				".kalypso/inventory/type-7.json": inventory("dev", "type-7", append(benchNames(), fmt.Sprintf("shop-new-%d", i))...),
				"type-7/shop-1/reconciler.yaml":  fmt.Sprintf("kind: changed-%d\n", i),
			}
		}},
		{"application", application("dev"), applicationFiles(), func(i int) map[string]string {
			return map[string]string{"group-0/target-0/descriptor.yaml": descriptor("dev", "target-0", fmt.Sprintf("2.%d", i))}
		}},
	} {
		w := newWorld(b)
		w.commit("gitops", kind.files)
		b.Run(kind.name+"/first", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				w.ledger = openLedger(b)
				w.restart()
				b.StartTimer()
				w.record(kind.branch)
			}
		})
		w.ledger = openLedger(b)
		w.restart()
		w.record(kind.branch)
		b.Run(kind.name+"/unchanged", func(b *testing.B) {
			for b.Loop() {
				w.record(kind.branch)
			}
		})
		for _, restart := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/changed,restart=%t", kind.name, restart), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					b.StopTimer()
					w.commit("gitops", kind.change(w.commits))
					if restart {
						w.restart()
					}
					b.StartTimer()
					w.record(kind.branch)
				}
			})
		}
	}
}
