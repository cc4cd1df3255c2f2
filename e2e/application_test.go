package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestApplication: a commit of an application's source goes from dev to stage, as pull requests to the application's GitOps
// repository. CI says what it built; everything else does the server, because the clusters of both environments run it.
func TestApplication(t *testing.T) {
	t.Parallel()
	a := &application{promotion: &promotion{fleet: newFleet(t, "application"), whole: t, agents: map[string]*agent{}}}
	a.prepare(t)
	a.server = a.servePolling(t, "5s")
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"clusters join, and the platform gives them the application's targets", a.join},
		{"a commit comes to dev, and clusters run it", a.deliver},
		{"it is proposed to stage, and merged by a person", a.promote},
		{"a change of configuration reaches its environment alone", a.configure},
		{"a cluster that fails stops a commit, and the commit says why", a.fail},
		{"when the cluster recovers, the commit goes on", a.recover},
		{"a version that crashes stops at dev, and the commit says why its pods fail", a.crash},
		{"a version that starts slowly goes on once it is healthy", a.start},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	must(t, a.server.Stop(t.Context()))
	a.wantDiscreetLog(t, a.server)
}

// application is the story of a chain of environments of an application: the platform's own is only to be there.
type application struct {
	*promotion
	// first and second are the commits of the source that are delivered.
	first, second string
}

// The repositories of the application, and where the story changes them.
const (
	appSource, appConfigs, appGitOps = "hello-world-app", "hello-world-app-configs", "hello-world-app-gitops"

	sourceMain                 = appSource + "/main"
	configsOfDev, configsStage = appConfigs + "/" + dev, appConfigs + "/" + stage
)

// prepare has the platform merge what it proposes by itself, and the application be what "kalypso init" makes.
func (a *application) prepare(t *testing.T) {
	t.Helper()
	a.mergeByItself(t)
	a.followOften(t)
	for _, repository := range []string{appSource, appGitOps} {
		must(t, a.repositories[repository].Grant(t.Context(), a.bot, "write")) // statuses, and pull requests
	}
	source := a.written(t, "app", "main")
	for _, path := range []string{
		"workload/workload.yaml", "workload/delivery.yaml", "helm/Chart.yaml", "helm/values.yaml",
		"helm/values.schema.json", "helm/templates/deployment.yaml", "helm/templates/service.yaml",
	} {
		text := strings.ReplaceAll(source[path], "../"+appGitOps, a.repositories[appGitOps].URL()) // clusters know no "../"
		must(t, a.checkouts[sourceMain].Write(path, a.adapt(text)))
	}
	push(t, a.checkouts[sourceMain], "have a chart")
	for _, environment := range []string{dev, stage} {
		a.checkouts[appConfigs+"/"+environment] = a.publish(t, appConfigs, environment, a.written(t, "config", environment))
	}
	must(t, a.repositories[appConfigs].Grant(t.Context(), a.bot, "write")) // statuses
	gitops := a.checkouts[appGitOps+"/"+dev]
	for _, target := range []string{"functional-test", "performance-test"} {
		must(t, gitops.Remove(target+"/greeting.yaml"))
	}
	push(t, gitops, "leave it to Kalypso")
	a.followBoth(t)
}

// written are the files of a branch of a repository that "kalypso init" writes.
func (a *application) written(t *testing.T, kind, branch string) map[string]string {
	t.Helper()
	made := filepath.Join(t.TempDir(), appSource) // the application gets its name
	result, err := kalypso.Run(t.Context(), "init", kind, made)
	must(t, err)
	if result.Code != 0 {
		t.Fatalf("kalypso init %s ended with %d\n%s", kind, result.Code, result.Stderr)
	}
	files, err := harness.FilesOf(t.Context(), made, t.TempDir(), branch)
	must(t, err)
	texts := map[string]string{}
	must(t, fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		texts[path] = string(text)
		return err
	}))
	return texts
}

// followOften lets Flux on both clusters reconcile the applications, and look for what is new every two seconds.
func (a *application) followOften(t *testing.T) {
	t.Helper()
	main := a.branches(t)[controlPlaneMain]
	for _, template := range []string{"templates/flux.yaml", "templates/arc-flux.yaml"} {
		must(t, a.checkouts[controlPlaneMain].Write(template, strings.NewReplacer(
			"interval: 1m", "interval: 2s", "retryInterval: 1m", "retryInterval: 2s").Replace(main[template])))
	}
	push(t, a.checkouts[controlPlaneMain], "look often")
	for _, environment := range []string{dev, stage} {
		c := a.checkouts["control-plane/"+environment]
		must(t, c.Replace("cluster-types/west-us/large/large-cluster-type.yaml", "reconciler: argocd", "reconciler: flux"))
		push(t, c, "Flux everywhere")
	}
}

// join registers the clusters, and wants them to be told where the application's manifests will be.
func (a *application) join(t *testing.T) {
	a.promotion.join(t)
	for _, at := range []struct{ cluster, environment, target string }{
		{drone, dev, "functional-test"}, {large, dev, "performance-test"}, {drone, stage, "uat-test"}, {large, stage, "uat-test"},
	} {
		eventually(t, at.cluster+" follows "+at.target, func(ctx context.Context) error {
			_, err := stack.Clusters[at.cluster].Get(ctx, harness.Kustomizations, namespaceOf(at.cluster, at.environment, at.target), namespaceOf(at.cluster, at.environment, at.target))
			return err
		})
	}
}

// build pushes a change of the source, and says as CI does what was built from it. It returns the commit.
// The server may work on the same pull request just then: who comes second is told to run the command again.
func (a *application) build(t *testing.T, message, version string) string {
	t.Helper()
	return a.buildImage(t, message, version, version)
}

// buildImage is like build, with an image whose tag is not the version.
func (a *application) buildImage(t *testing.T, message, version, tag string) string {
	t.Helper()
	commit := push(t, a.checkouts[sourceMain], message)
	ci := kalypso.With(append(a.credentials(), "GITEA_TOKEN="+a.bot.Token)...)
	config := filepath.Join(t.TempDir(), "forges.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "forges: [{kind: gitea, url: %s, settle: 1s, tokenEnv: GITEA_TOKEN}]\n", stack.Gitea.URL), 0o600))
	eventually(t, "CI asks for the delivery of "+version, func(ctx context.Context) error {
		result, err := ci.Run(ctx, "app", "deploy", "--source", a.repositories[appSource].URL(), "--forge-config", config,
			"--commit", commit, "--version", version, "--image-tag", tag, "--ledger", a.server.ledger)
		if err == nil && result.Code != 0 {
			err = fmt.Errorf("kalypso app deploy ended with %d\n%s%s", result.Code, result.Stdout, result.Stderr)
		}
		return err
	})
	return commit
}

func (a *application) deliver(t *testing.T) {
	a.first = a.build(t, "the first version", "1.4.0")
	a.wantSaid(t, appSource, a.first, "dev: success Deployed 1.4.0")
	// The server may have opened the same once more while the job of CI merged it; then it has withdrawn that.
	pull := a.pull(t, dev, func(p harness.Pull) error {
		return wears(p, "dev: deliver hello-world-app 1.4.0 (2 added)", p.Merged, "promoted")
	})
	wantReviewable(t, pull, a.first[:7], "`1.4.0`", "`ghcr.io/example/hello-world-app:1.4.0`",
		"| added | `functional-test` |", "| added | `performance-test` |", "added `Deployment/hello-world-app`",
		"| `place` | *not set* | `the functional test` | `functional-test/values.yaml:1` | `functional-test` |",
		"+          image: \"ghcr.io/example/hello-world-app:1.4.0\"")
	wantRunning(t, drone, dev, "functional-test", "ghcr.io/example/hello-world-app:1.4.0", 1)
	wantRunning(t, large, dev, "performance-test", "ghcr.io/example/hello-world-app:1.4.0", 3)
}

func (a *application) promote(t *testing.T) {
	pull := a.proposed(t, stage, "stage: deliver hello-world-app 1.4.0 (1 added)", "promoted")
	wantReviewable(t, pull, a.first[:7], "`1.4.0`", "| added | `uat-test` |",
		"| `greeting` | *not set* | `Good day` | `values.yaml:2` | `uat-test` |")
	a.wantSaid(t, appSource, a.first, "stage: pending Promoted 1.4.0")
	a.merge(t, pull)
	a.wantSaid(t, appSource, a.first, "stage: success Deployed 1.4.0")
	for _, cluster := range []string{drone, large} {
		wantRunning(t, cluster, stage, "uat-test", "ghcr.io/example/hello-world-app:1.4.0", 2)
	}
}

func (a *application) configure(t *testing.T) {
	before := a.published(t, dev)
	c := a.checkouts[configsStage]
	must(t, c.Replace("uat-test/values.yaml", "replicas: 2", "replicas: 5"))
	commit := push(t, c, "five of them")
	pull := a.proposed(t, stage, "stage: configure hello-world-app 1.4.0 (1 changed)")
	wantReviewable(t, pull, a.first[:7], "| `replicas` | `2` | `5` | `uat-test/values.yaml:2` | `uat-test` |", "-  replicas: 2\n", "+  replicas: 5\n")
	a.merge(t, pull)
	a.wantSaid(t, appConfigs, commit, "stage: success Configured 1.4.0")
	if pull = a.proposed(t, stage, pull.Title); slices.Contains(pull.Labels, harness.Label{Name: "promoted"}) {
		t.Errorf("a change of configuration wears the label promoted: %q", pull.Title)
	}
	for _, cluster := range []string{drone, large} {
		wantRunning(t, cluster, stage, "uat-test", "ghcr.io/example/hello-world-app:1.4.0", 5)
	}
	if after := a.published(t, dev); after != before {
		t.Errorf("dev moved from %s to %s", before, after)
	}
}

// fail delivers a chart with a label that only the API server refuses, and only for the configuration of one of two clusters.
func (a *application) fail(t *testing.T) {
	before := a.published(t, stage)
	must(t, a.checkouts[configsOfDev].Replace("performance-test/values.yaml", "place: the performance test", "place: west"))
	configured := push(t, a.checkouts[configsOfDev], "a place in one word")
	a.wantSaid(t, appConfigs, configured, "dev: success Configured 1.4.0")
	must(t, a.checkouts[sourceMain].Replace("helm/templates/service.yaml", "  name: hello-world-app\n",
		"  name: hello-world-app\n  labels: {place: {{ .Values.place | quote }}}\n"))
	a.second = a.build(t, "say where it is", "1.5.0")
	eventually(t, "the commit says which cluster fails, and why", func(ctx context.Context) error {
		said, err := a.repositories[appSource].Statuses(ctx, a.second)
		if err != nil {
			return err
		}
		return saysAll(lastOf(said, dev), "dev: failure", drone, "Service/")
	})
	if said := lastOf(a.saidOf(t, appSource, a.second), stage); said != "" {
		t.Errorf("of stage is said %q", said)
	}
	if after := a.published(t, stage); after != before {
		t.Errorf("stage moved from %s to %s", before, after)
	}
}

func (a *application) recover(t *testing.T) {
	must(t, a.checkouts[configsOfDev].Replace("functional-test/values.yaml", "place: the functional test", "place: edge"))
	push(t, a.checkouts[configsOfDev], "one word here, too")
	a.wantSaid(t, appSource, a.second, "dev: success Deployed 1.5.0")
	wantRunning(t, drone, dev, "functional-test", "ghcr.io/example/hello-world-app:1.5.0", 1)
	pull := a.proposed(t, stage, "stage: deliver hello-world-app 1.5.0 (1 changed)", "promoted")
	wantReviewable(t, pull, "| version | `1.4.0` | `1.5.0` |", "| changed | `uat-test` |",
		"-          image: \"ghcr.io/example/hello-world-app:1.4.0\"\n+          image: \"ghcr.io/example/hello-world-app:1.5.0\"\n")
}

// crash delivers an image whose containers crash. Its manifests are applied everywhere, and so only the health tells.
func (a *application) crash(t *testing.T) {
	before := a.published(t, stage)
	must(t, a.checkouts[sourceMain].Replace("helm/templates/deployment.yaml", "  replicas:", "  progressDeadlineSeconds: 4\n  replicas:"))
	crashed := a.buildImage(t, "crash", "1.6.0", "crash-1.6.0")
	eventually(t, "the commit says which cluster fails, and why", func(ctx context.Context) error {
		said, err := a.repositories[appSource].Statuses(ctx, crashed)
		if err != nil {
			return err
		}
		return saysAll(lastOf(said, dev), "dev: failure", "degraded", "CrashLoopBackOff")
	})
	wantRunning(t, drone, dev, "functional-test", "ghcr.io/example/hello-world-app:crash-1.6.0", 1)
	if said := lastOf(a.saidOf(t, appSource, crashed), stage); said != "" {
		t.Errorf("of stage is said %q", said)
	}
	if after := a.published(t, stage); after != before {
		t.Errorf("stage moved from %s to %s", before, after)
	}
}

// start delivers an image whose containers need a moment to become ready.
func (a *application) start(t *testing.T) {
	must(t, a.checkouts[sourceMain].Replace("helm/templates/deployment.yaml", "progressDeadlineSeconds: 4", "progressDeadlineSeconds: 60"))
	slow := a.buildImage(t, "mend it", "1.7.0", "slow-1.7.0")
	a.wantSaid(t, appSource, slow, "dev: success Deployed 1.7.0")
	a.proposed(t, stage, "stage: deliver hello-world-app 1.7.0 (1 changed)", "promoted")
	for _, at := range []struct{ cluster, target string }{{drone, "functional-test"}, {large, "performance-test"}} {
		o, err := stack.Clusters[at.cluster].Get(t.Context(), harness.Deployments, namespaceOf(at.cluster, dev, at.target), appSource)
		must(t, err)
		if c := harness.Condition(o, "Available"); c["status"] != "True" {
			t.Errorf("%s was promoted, and on %s it is not available: %v", slow[:7], at.cluster, c)
		}
	}
}

// wantReviewable wants a pull request to say what a reviewer looks for.
func wantReviewable(t *testing.T, pull harness.Pull, body ...string) {
	t.Helper()
	if err := saysAll(pull.Body, body...); err != nil {
		t.Errorf("%s: %v", pull.Title, err)
	}
}

// proposed waits for a pull request to an environment's branch with a title and labels.
func (a *application) proposed(t *testing.T, environment, title string, labels ...string) harness.Pull {
	t.Helper()
	return a.pull(t, environment, func(p harness.Pull) error { return wears(p, title, true, labels...) })
}

// pull waits for a pull request to an environment's branch with which nothing is wrong, and returns the newest one.
func (a *application) pull(t *testing.T, environment string, wrong func(harness.Pull) error) (pull harness.Pull) {
	t.Helper()
	eventually(t, "it is proposed to "+environment, func(ctx context.Context) error {
		pulls, err := a.repositories[appGitOps].PullsTo(ctx, environment)
		for _, pull = range pulls {
			problem := wrong(pull)
			if problem == nil {
				return nil
			}
			err = errors.Join(err, problem)
		}
		return cmp.Or(err, errors.New("there is no pull request"))
	})
	return pull
}

// wears says what a pull request lacks of a title, labels, and whatever else it is to be.
func wears(p harness.Pull, title string, as bool, labels ...string) error {
	for _, label := range labels {
		as = as && slices.Contains(p.Labels, harness.Label{Name: label})
	}
	if p.Title != title || !as {
		return fmt.Errorf("%q wears %q, merged: %v; want %q with %q", p.Title, p.Labels, p.Merged, title, labels)
	}
	return nil
}

func (a *application) merge(t *testing.T, pull harness.Pull) {
	t.Helper()
	_, err := a.repositories[appGitOps].Merge(t.Context(), pull, stage)
	must(t, err)
}

// published returns the newest commit of an environment's branch.
func (a *application) published(t *testing.T, environment string) string {
	t.Helper()
	commit, err := a.repositories[appGitOps].Head(t.Context(), environment)
	must(t, err)
	return commit
}

// wantSaid waits until the last thing that is said about a commit in an environment begins with a text.
func (a *application) wantSaid(t *testing.T, repository, commit, want string) {
	t.Helper()
	environment, _, _ := strings.Cut(want, ":")
	eventually(t, "of "+commit[:7]+" is said "+want, func(ctx context.Context) error {
		said, err := a.repositories[repository].Statuses(ctx, commit)
		if err == nil && !strings.HasPrefix(lastOf(said, environment), want) {
			err = fmt.Errorf("said %q", said)
		}
		return err
	})
}

// saidOf returns everything that was said about a commit, in order.
func (a *application) saidOf(t *testing.T, repository, commit string) []string {
	t.Helper()
	said, err := a.repositories[repository].Statuses(t.Context(), commit)
	must(t, err)
	return said
}

// namespaceOf is where an application's target is on a cluster.
func namespaceOf(cluster, environment, target string) string {
	return environment + "-" + cluster + "-" + appSource + "-" + target
}

// wantRunning wants a cluster to have what was delivered.
func wantRunning(t *testing.T, cluster, environment, target, image string, replicas int64) {
	t.Helper()
	eventually(t, target+" runs "+image+" on "+cluster, func(ctx context.Context) error {
		o, err := stack.Clusters[cluster].Get(ctx, harness.Deployments, namespaceOf(cluster, environment, target), appSource)
		if err != nil {
			return err
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		got, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if len(containers) != 1 || containers[0].(map[string]any)["image"] != image || got != replicas {
			err = fmt.Errorf("it has %d of %v, want %d of %s", got, containers, replicas, image)
		}
		return err
	})
}
