package fleet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// BenchmarkRead measures reading bytes to typed objects on one core, with an empty cache.
func BenchmarkRead(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	source := controlPlane(20, 100)
	b.SetBytes(size(source))
	b.ReportAllocs()
	for b.Loop() {
		if o := fleet.Read(&fleet.Cache{}, source); len(o.Problems) > 0 {
			b.Fatal(o.Problems[0])
		}
	}
}

// BenchmarkReadUnchanged measures reading the same blobs again: nothing is parsed.
func BenchmarkReadUnchanged(b *testing.B) {
	source := controlPlane(20, 100)
	var cache fleet.Cache
	fleet.Read(&cache, source)
	for i := range source.Files {
		source.Files[i].Read = func() ([]byte, error) { return nil, errors.New("an unchanged blob is read again") }
	}
	b.SetBytes(size(source))
	b.ReportAllocs()
	for b.Loop() {
		if o := fleet.Read(&cache, source); len(o.Problems) > 0 {
			b.Fatal(o.Problems[0])
		}
	}
}

// BenchmarkNodes is the baseline: only the YAML parser, on the same bytes.
func BenchmarkNodes(b *testing.B) {
	source := controlPlane(20, 100)
	b.SetBytes(size(source))
	for b.Loop() {
		for _, f := range source.Files {
			data, _ := f.Read()
			decoder := yaml.NewDecoder(bytes.NewReader(data))
			var node yaml.Node
			for {
				if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// BenchmarkAssemble measures assembling a snapshot of a thousand targets and a hundred cluster types.
func BenchmarkAssemble(b *testing.B) {
	in := fleet.Inputs{
		Environment: "dev", Main: fleet.Read(nil, registrations(100)), Branch: fleet.Read(nil, controlPlane(20, 100)),
		Workloads: map[string]fleet.Fetched{},
	}
	for i := range 100 {
		name := fmt.Sprintf("workload-%d", i)
		in.Workloads[name] = fleet.Fetched{Objects: fleet.Read(nil, workload(name, 10))}
	}
	b.ReportAllocs()
	for b.Loop() {
		if s := fleet.Assemble(in); len(s.Targets) != 1000 || len(s.Problems) > 0 {
			b.Fatal(len(s.Targets), s.Problems)
		}
	}
}

func size(source fleet.Source) (bytes int64) {
	for _, f := range source.Files {
		bytes += f.Size
	}
	return bytes
}

// controlPlane is an environment branch with configuration for each cluster type and policies.
func controlPlane(layers, types int) fleet.Source {
	files := map[string]string{"gitops.yaml": fmt.Sprintf(gitOps, "dev")}
	for i := range types {
		name := fmt.Sprintf("type-%d", i)
		files["cluster-types/"+name+"/type.yaml"] = fmt.Sprintf(clusterType, name, i%7)
		for j := range layers {
			files[fmt.Sprintf("cluster-types/%s/config-%d.yaml", name, j)] = fmt.Sprintf(configMap, i, j, i%7, "key-value-"+name)
		}
		files["policies/"+name+".yaml"] = fmt.Sprintf(policy, i)
	}
	return fleettest.Source("dev", files)
}

func registrations(n int) fleet.Source {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf(registration, i, i)
	}
	return fleettest.Source("main", files)
}

func workload(name string, targets int) fleet.Source {
	var b strings.Builder
	fmt.Fprintf(&b, workloadHead, name)
	for i := range targets {
		fmt.Fprintf(&b, workloadTarget, i, i%3)
	}
	return fleettest.Source(name, map[string]string{"workload.yaml": b.String()})
}

const gitOps = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata:
  name: %s
spec:
  repo: https://example.com/gitops
  branch: dev
`

const clusterType = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: %s
  labels:
    region: region-%d
    size: large
    edge: "false"
spec:
  reconciler: flux
  namespaceService: default
`

const configMap = `# platform configuration of one layer
apiVersion: v1
kind: ConfigMap
metadata:
  name: config-%d-%d
  labels:
    platform-config: "true"
    region: region-%d
data:
  REGION: West US
  DATABASE_URL: mysql://west.example.com:3306/database
  CLUSTER_NAME: "%s"
  LOG_LEVEL: 'debug'
  FEATURES: |
    fast-checkout: true
    recommendations:
      enabled: false
      depth: 3
`

const policy = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: policy-%d
spec:
  deploymentTargetSelector:
    workspace: kaizen-app-team
    labelSelector:
      matchLabels:
        purpose: functional-test
        edge: "true"
  clusterTypeSelector:
    labelSelector:
      matchExpressions:
        - {key: region, operator: In, values: [region-1, region-2]}
`

const registration = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: workload-%d
spec:
  workload:
    repo: https://example.com/app-%d
    branch: main
    path: .
  workspace: kaizen-app-team
`

const workloadHead = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: %s
  labels:
    type: application
spec:
  deploymentTargets:
`

const workloadTarget = `    - name: target-%d
      labels:
        purpose: purpose-%d
      environment: dev
      manifests:
        repo: https://example.com/app-gitops
        branch: dev
        path: ./functional-test
`
