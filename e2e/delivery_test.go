package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestDelivery: a person runs the commands and merges what they propose; clusters get what is theirs, and nothing else.
func TestDelivery(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "delivery")
	f.follow(t)
	step := func(name string, check func(t *testing.T)) {
		if !t.Failed() {
			t.Run(name, check)
		}
	}

	step("the control plane on Gitea is valid", func(t *testing.T) {
		f.run(t, 0, "validate")
	})
	step("the plan shows ten assignments", func(t *testing.T) {
		wantText(t, f.run(t, 0, "plan", "-e", dev), `10 added, 0 changed, 0 removed, 0 held`)
	})
	step("everything arrives where it belongs", func(t *testing.T) {
		roll(t, f.scheduleAndMerge(t))
		wantDeployed(t, drone, onDrone("hello-world-app-functional-test", "nginx-dev", "prometheus-dev"))
		wantDeployed(t, large, onLarge("hello-world-app-performance-test", "nginx-dev", "prometheus-dev"))
		if got, want := value(t, drone, "dev-drone-nginx-dev", "DATABASE_URL"), "mysql://restricted-host:3306/mysqlrty123"; got != want {
			t.Errorf("got DATABASE_URL %q on drone, want %q", got, want)
		}
	})
	step("Argo CD is told where the manifests are", func(t *testing.T) {
		f.wantApplication(t, "dev-large-hello-world-app-performance-test", "hello-world-app-gitops", "./performance-test")
	})
	step("nothing is left to do", func(t *testing.T) {
		wantText(t, f.run(t, 0, "schedule", "-e", dev, "--commit"), `nothing to commit`)
	})
	step("a changed value rolls where it applies, and nowhere else", func(t *testing.T) {
		const namespace = "dev-drone-nginx-dev"
		before := configuration(t, drone, namespace).GetResourceVersion()
		c := f.checkouts[controlPlaneOfDev]
		must(t, c.Replace("cluster-types/west-us/west-us-config.yaml", "mysql://west:8806/db", "mysql://west-2:8806/db"))
		push(t, c, "move the database of the west")
		roll(t, f.scheduleAndMerge(t))
		if got, want := value(t, large, "dev-large-nginx-dev", "DATABASE_URL"), "mysql://west-2:8806/db"; got != want {
			t.Errorf("got DATABASE_URL %q on large, want %q", got, want)
		}
		if after := configuration(t, drone, namespace).GetResourceVersion(); after != before {
			t.Errorf("the configuration on drone was written, though nothing changed there: version %s, then %s", before, after)
		}
	})
	step("every rendered document is accepted, on clusters of all types", func(t *testing.T) {
		f.wantAccepted(t)
	})
	step("a removed assignment is pruned, and the others stay", func(t *testing.T) {
		c := f.checkouts[controlPlaneOfDev]
		must(t, c.Remove("scheduling/kaizen/functional-test-policy.yaml"))
		push(t, c, "no functional tests any more")
		roll(t, f.scheduleAndMerge(t))
		wantDeployed(t, drone, onDrone("nginx-dev", "prometheus-dev"))
		wantDeployed(t, large, onLarge("hello-world-app-performance-test", "nginx-dev", "prometheus-dev"))
	})
}

// run runs a command of Kalypso on the fleet's control plane, with the bot's credentials, and returns what it says.
func (f *fleet) run(t *testing.T, code int, args ...string) string {
	t.Helper()
	args = append(args, "--control-plane", f.repositories["control-plane"].URL())
	result, err := kalypso.With(f.credentials()...).Run(t.Context(), args...)
	must(t, err)
	if strings.Contains(result.Stdout+result.Stderr, f.bot.Token) {
		t.Error("the bot's token is printed")
	}
	if result.Code != code {
		t.Fatalf("kalypso %s ended with %d, want %d\n%s%s", strings.Join(args, " "), result.Code, code, result.Stdout, result.Stderr)
	}
	return result.Stdout
}

// scheduleAndMerge has Kalypso propose what is to change and merges it on Gitea. It returns the commit that clusters will see.
func (f *fleet) scheduleAndMerge(t *testing.T) string {
	t.Helper()
	wantText(t, f.run(t, 0, "schedule", "-e", dev, "--commit"), `committed.* kalypso/dev as [0-9a-f]+, and pushed`)
	pull, err := f.gitops.OpenPull(t.Context(), "kalypso/dev", dev, "what Kalypso proposes")
	must(t, err)
	commit, err := f.gitops.Merge(t.Context(), pull, dev)
	must(t, err)
	return commit
}

// onDrone is what a cluster has for targets that are reconciled by Flux: a namespace with its configuration and what the
// target's own repository holds, and the two objects that make Flux fetch that.
func onDrone(targets ...string) deployed {
	var d deployed
	for _, target := range targets {
		namespace := "dev-drone-" + target
		d.Namespaces = append(d.Namespaces, namespace)
		d.Configurations = append(d.Configurations, namespace+"/"+manifestOf(target), namespace+"/platform-config")
		d.Sources = append(d.Sources, "flux-system/"+namespace)
		d.Reconcilers = append(d.Reconcilers, namespace+"/"+namespace)
	}
	sortAll(&d)
	return d
}

// onLarge is the same where Argo CD reconciles, which is not there to fetch anything.
func onLarge(targets ...string) deployed {
	var d deployed
	for _, target := range targets {
		namespace := "dev-large-" + target
		d.Namespaces = append(d.Namespaces, namespace)
		d.Configurations = append(d.Configurations, namespace+"/platform-config")
		d.Applications = append(d.Applications, "argocd/"+namespace)
	}
	sortAll(&d)
	return d
}

// manifestOf is the name of the object that a target's own repository holds.
func manifestOf(target string) string {
	if service, ok := strings.CutSuffix(target, "-dev"); ok {
		return service
	}
	return "greeting"
}

func (f *fleet) wantApplication(t *testing.T, name, repository, path string) {
	t.Helper()
	o, err := stack.Clusters[large].Get(t.Context(), harness.Applications, "argocd", name)
	must(t, err)
	source, _, _ := unstructured.NestedStringMap(o.Object, "spec", "source")
	want := map[string]string{"repoURL": f.repositories[repository].URL(), "targetRevision": dev, "path": path}
	for key := range want {
		if source[key] != want[key] {
			t.Errorf("%s of application %s is %q, want %q", key, name, source[key], want[key])
		}
	}
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if !regexp.MustCompile(want).MatchString(got) {
		t.Fatalf("got\n%s\nwant a line that matches %q", got, want)
	}
}

func sortAll(d *deployed) {
	for _, names := range [][]string{d.Namespaces, d.Configurations, d.Sources, d.Reconcilers, d.Applications} {
		slices.Sort(names)
	}
}
