package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestServe: the server keeps one pull request for each environment, people merge them, and clusters follow.
// It polls once an hour, so that whatever it does here, a webhook from Gitea caused.
func TestServe(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "serve")
	f.promoteByHand(t)
	must(t, f.repositories["control-plane"].Grant(t.Context(), f.bot, "write")) // for statuses and comments on its pull requests
	must(t, f.gitops.Require(t.Context(), dev, "kalypso/deletions"))
	f.follow(t)
	server := f.serve(t)
	var first harness.Pull
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"each environment gets a pull request", func(t *testing.T) {
			first = f.wantPull(t, dev, "dev: 10 added")
			f.wantPull(t, "stage", "stage: 6 added")
			if first.User.Login != f.bot.Name {
				t.Errorf("opened by %q, want %q", first.User.Login, f.bot.Name)
			}
			f.wantStatus(t, f.gitops, first.Head.SHA, "kalypso/deletions", "success")
		}},
		{"what is merged arrives, and nothing else", func(t *testing.T) {
			roll(t, f.merge(t, first))
			wantDeployed(t, drone, onDrone("hello-world-app-functional-test", "nginx-dev", "prometheus-dev"))
			wantDeployed(t, large, onLarge("hello-world-app-performance-test", "nginx-dev", "prometheus-dev"))
		}},
		{"a changed value is proposed", func(t *testing.T) {
			c := f.checkouts[controlPlaneOfDev]
			must(t, c.Replace("cluster-types/west-us/west-us-config.yaml", "mysql://west:8806/db", "mysql://west-2:8806/db"))
			push(t, c, "move the database of the west")
			first = f.wantPull(t, dev, "dev: 5 changed")
		}},
		{"a workload that comes on board is added to the same pull request", func(t *testing.T) {
			f.onboard(t, "redis")
			f.wantSamePull(t, first, "dev: 4 added, 5 changed")
		}},
		{"it rolls", func(t *testing.T) {
			roll(t, f.merge(t, f.wantPull(t, dev, "dev: 4 added, 5 changed")))
			wantDeployed(t, drone, onDrone("hello-world-app-functional-test", "nginx-dev", "prometheus-dev", "redis-dev"))
			wantDeployed(t, large, onLarge("hello-world-app-performance-test", "nginx-dev", "prometheus-dev", "redis-dev"))
			if got, want := value(t, large, "dev-large-nginx-dev", "DATABASE_URL"), "mysql://west-2:8806/db"; got != want {
				t.Errorf("got DATABASE_URL %q on large, want %q", got, want)
			}
		}},
		{"a pull request of the control plane shows its plan", f.preview},
		{"a policy is proposed", func(t *testing.T) {
			c := f.checkouts[controlPlaneOfDev]
			must(t, c.Replace("scheduling/kaizen/functional-test-policy.yaml", "        restricted: \"true\"\n        edge: \"true\"\n", "        restricted: \"true\"\n"))
			push(t, c, "functional tests on all restricted clusters")
			first = f.wantPull(t, dev, "dev: 1 added")
		}},
		{"a cluster type is added to the same pull request", func(t *testing.T) {
			c := f.checkouts[controlPlaneOfDev]
			must(t, c.Write("cluster-types/west-us/tiny.yaml", clusterType("tiny", "small")))
			push(t, c, "a smaller cluster type")
			roll(t, f.merge(t, f.wantSamePull(t, first, "dev: 4 added")))
		}},
		{"a promoted commit is proposed, with a label", f.promote},
		{"more removals than the budget wait for a person", f.exceedBudget},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	must(t, server.Stop(t.Context()))
	f.wantDiscreetLog(t, server)
}

// wantPull waits for the one pull request of an environment, with a title.
func (f *fleet) wantPull(t *testing.T, environment, title string) harness.Pull {
	t.Helper()
	var found harness.Pull
	eventually(t, "there is one pull request "+title, func(ctx context.Context) error {
		pulls, err := f.gitops.Pulls(ctx)
		if err != nil {
			return err
		}
		var titles []string
		for _, p := range pulls {
			if p.Head.Ref == "kalypso/"+environment {
				found, titles = p, append(titles, p.Title)
			}
		}
		if len(titles) != 1 || countsOf(titles[0]) != title {
			return fmt.Errorf("open pull requests: %q", titles)
		}
		return nil
	})
	return found
}

// saysWhat matches a title that says what changes before it counts.
var saysWhat = regexp.MustCompile(`^([^:]+: ).* \((.+)\)$`)

// countsOf returns the title of a pull request without what changes: "dev: 10 added".
func countsOf(title string) string { return saysWhat.ReplaceAllString(title, "$1$2") }

// wantSamePull waits until a pull request that is there already has another title.
func (f *fleet) wantSamePull(t *testing.T, was harness.Pull, title string) harness.Pull {
	t.Helper()
	is := f.wantPull(t, dev, title)
	if is.Number != was.Number {
		t.Errorf("pull request %d took the place of %d, which was open", is.Number, was.Number)
	}
	return is
}

func (f *fleet) wantStatus(t *testing.T, r *harness.Repository, commit, about, want string) {
	t.Helper()
	eventually(t, "status "+about+" of "+commit, func(ctx context.Context) error {
		got, err := r.Status(ctx, commit, about)
		if err == nil && got != want {
			err = fmt.Errorf("it is %q, want %q", got, want)
		}
		return err
	})
}

func (f *fleet) merge(t *testing.T, p harness.Pull) string {
	t.Helper()
	f.wantStatus(t, f.gitops, p.Head.SHA, "kalypso/deletions", "success")
	commit, err := f.gitops.Merge(t.Context(), p, dev)
	must(t, err)
	return commit
}

// onboard brings a service to the platform, whose policy takes it everywhere.
func (f *fleet) onboard(t *testing.T, name string) {
	t.Helper()
	for _, change := range []struct{ branch, path, text string }{
		{"platform-services-gitops/dev", name + "/settings.yaml", configMap(name, "hello")},
		{"platform-services/main", name + "/workload.yaml", f.workload(name)},
		{controlPlaneMain, "workloads/platform-services/" + name + ".yaml", registration(name)},
	} {
		c := f.checkouts[change.branch]
		must(t, c.Write(change.path, change.text))
		push(t, c, "bring "+name+" on board")
	}
}

func (f *fleet) workload(name string) string {
	return f.adapt(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: ` + name + `
  labels:
    type: platform-service
spec:
  deploymentTargets:
    - name: dev
      environment: dev
      manifests:
        repo: https://github.com/example/platform-services-gitops
        branch: dev
        path: ./` + name + "\n")
}

func registration(name string) string {
	return `apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata:
  name: ` + name + `
  labels:
    type: platform-service
spec:
  workload:
    repo: ../platform-services
    branch: main
    path: ` + name + `/
  workspace: platform-team
`
}

// clusterType is one that takes what it does not say from another.
func clusterType(name, extends string) string {
	return `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: ` + name + `
spec:
  extends: ` + extends + "\n"
}

// preview opens a pull request on the control plane, and wants to read there what it would do.
func (f *fleet) preview(t *testing.T) {
	c := f.checkouts["control-plane/stage"]
	must(t, c.Switch(t.Context(), "east-moves"))
	must(t, c.Replace("cluster-types/east-us/east-us-config.yaml", "East US", "East US 2"))
	commit := push(t, c, "the east is East US 2")
	r := f.repositories["control-plane"]
	pull, err := r.OpenPull(t.Context(), "east-moves", "stage", "The east moves")
	must(t, err)
	f.wantStatus(t, r, commit, "kalypso/plan", "success")
	eventually(t, "the plan is a comment", func(ctx context.Context) error {
		comments, err := r.Comments(ctx, pull)
		if err == nil && (len(comments) != 1 || !strings.Contains(comments[0], "East US 2")) {
			err = fmt.Errorf("comments: %q", comments)
		}
		return err
	})
}

// promote pins the environment to the head of main, which it followed so far: only the record of it changes.
func (f *fleet) promote(t *testing.T) {
	head, err := f.repositories["control-plane"].Head(t.Context(), "main")
	must(t, err)
	c := f.checkouts[controlPlaneOfDev]
	must(t, c.Replace("base-repo.yaml", "  branch: main\n", "  branch: main\n  commit: "+head+"\n"))
	push(t, c, "dev: promote main")
	const title = "dev: bring redis on board" // the subject of the commit
	eventually(t, "the pull request is labelled", func(context.Context) error {
		if labels := f.wantPull(t, dev, title).Labels; !slices.Contains(labels, harness.Label{Name: "promoted"}) {
			return fmt.Errorf("it has the labels %v", labels)
		}
		return nil
	})
	roll(t, f.merge(t, f.wantPull(t, dev, title)))
}

// exceedBudget removes the policy that puts services everywhere. Gitea merges that only after a person has agreed.
func (f *fleet) exceedBudget(t *testing.T) {
	c := f.checkouts[controlPlaneOfDev]
	must(t, c.Remove("scheduling/platform/platform-services-policy.yaml"))
	push(t, c, "no services any more")
	pull := f.wantPull(t, dev, "dev: 15 removed")
	f.wantStatus(t, f.gitops, pull.Head.SHA, "kalypso/deletions", "failure")
	eventually(t, "Gitea refuses to merge", func(ctx context.Context) error {
		err := f.gitops.TryMerge(ctx, pull)
		switch {
		case err == nil:
			return harness.Stop(errors.New("it was merged"))
		case !strings.Contains(err.Error(), "status checks"):
			return err
		}
		return nil
	})
	must(t, f.gitops.Label(t.Context(), pull, "kalypso/allow-deletions"))
	roll(t, f.merge(t, pull))
	wantDeployed(t, drone, onDrone("hello-world-app-functional-test"))
	wantDeployed(t, large, onLarge("hello-world-app-performance-test"))
}

// wantDiscreetLog wants no credential in what the server logged, and shows what it had to try again:
// a person may merge while it looks, and what counts is where that ends.
func (f *fleet) wantDiscreetLog(t *testing.T, server *server) {
	t.Helper()
	log, err := server.Log()
	must(t, err)
	for whose, token := range map[string]string{"the bot": f.bot.Token, "the administrator": server.token} {
		if strings.Contains(log, token) {
			t.Errorf("the token of %s is in the log", whose)
		}
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"level":"ERROR"`) {
			t.Logf("the server met and overcame: %s", line)
		}
	}
}
