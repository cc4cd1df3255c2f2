package largefleet

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// scopes is the number of label sets that layers are written for, from the least to the most specific: the
// environment, a region, the cluster types of one size in a region, one cluster type.
const scopes = 4

// layersByScope divides the layers of an assignment among the scopes. One layer is left for the workload.
func (s Spec) layersByScope() []int {
	counts := make([]int, scopes)
	for i := range s.Layers - 1 {
		counts[i%scopes]++
	}
	return counts
}

// addConfigs writes the ConfigMaps of every scope, one file for each set of labels.
func (s Spec) addConfigs(f Files) {
	f.addLayers("configs/environment.yaml", s.layers(0, s.Environment, nil))
	for i := range s.ClusterTypes {
		ct := s.clusterType(i)
		region := []string{"region: " + ct.region}
		size := append(region[:1:1], "size: "+ct.size)
		own := append(size[:2:2], "cluster-type: "+ct.name)
		f.addLayers(regionFolder(ct)+"config.yaml", s.layers(1, ct.region, region))
		f.addLayers(regionFolder(ct)+ct.size+".yaml", s.layers(2, ct.region+"-"+ct.size, size))
		f.addLayers(ct.configFile(), s.layers(3, ct.name, own))
	}
	for i := range s.Clusters {
		name := clusterName(i)
		f.Env[clusterFile(name)] = header("Cluster", name) + fmt.Sprintf("spec:\n  clusterType: %s\n  ring: ring-%d\n---\n", s.clusterType(i%s.ClusterTypes).name, i%10) +
			configMap(name+"-config", []string{"cluster: " + name}, []string{s.entry(name, 0)})
	}
	for i := range s.workloads() {
		name := workloadName(i)
		f.Main["configs/"+name+".yaml"] = s.workloadLayer(name)
	}
}

func clusterName(i int) string { return fmt.Sprintf("cluster-%05d", i) }

func clusterFile(name string) string { return "clusters/" + name + ".yaml" }

// addLayers adds a file to the environment branch, unless it would be empty because the fleet has too few layers.
func (f Files) addLayers(path, content string) {
	if content != "" {
		f.Env[path] = content
	}
}

// layers returns the ConfigMaps of a scope. The least specific scope has a value for every key;
// each layer of the others overrides one.
func (s Spec) layers(scope int, name string, labels []string) string {
	count := s.layersByScope()[scope]
	shared := s.Keys - 1
	var documents []string
	for layer := range count {
		var data []string
		for key := layer; key < shared; key += count {
			// Scopes start at different keys, so that the result has values from all of them.
			data = append(data, s.entry(name, (key+2*scope)%shared))
			if scope > 0 {
				break
			}
		}
		documents = append(documents, configMap(fmt.Sprintf("%s-config-%02d", name, layer), labels, data))
	}
	return strings.Join(documents, "---\n")
}

// workloadLayer returns the only layer that depends on the target.
func (s Spec) workloadLayer(workload string) string {
	data := fmt.Sprintf("QUEUE_URL: amqp://queue-%d.example.com/%s", s.number(workload, "queue"), workload)
	return configMap(workload+"-config", []string{"workload: " + workload}, []string{data})
}

// entry returns one line of data. The values are of typical kinds: texts, URLs, numbers and booleans.
func (s Spec) entry(layer string, key int) string {
	n := s.number(layer, fmt.Sprint(key))
	switch key % 4 {
	case 0:
		return fmt.Sprintf("DATABASE_URL_%02d: mysql://%s-%d.example.com:8806/db", key, layer, n)
	case 1:
		return fmt.Sprintf("REGION_NAME_%02d: Region of %s %d", key, layer, n)
	case 2:
		return fmt.Sprintf("REPLICAS_%02d: %q", key, fmt.Sprint(n))
	default:
		return fmt.Sprintf("FEATURE_%02d: %q", key, fmt.Sprint(n%2 == 0))
	}
}

// number returns a small number that depends on the seed and parts.
func (s Spec) number(parts ...string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", s.Seed, strings.Join(parts, "/"))
	return h.Sum64() % 1000
}

func configMap(name string, labels, data []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n", name)
	b.WriteString("  labels:\n    platform-config: \"true\"\n")
	for _, label := range labels {
		fmt.Fprintf(&b, "    %s\n", label)
	}
	b.WriteString("data:\n")
	for _, line := range data {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return b.String()
}
