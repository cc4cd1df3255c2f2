package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// namespaceTemplate is what every assignment begins with. A commit of main changes it, and so reaches every cluster.
const namespaceTemplate = "templates/default.yaml"

// TestPromotion: a commit of main goes from dev to stage because the clusters say that they run it, and for no other reason.
// Each cluster serves both environments, and its agent reads what its Flux really does.
func TestPromotion(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "promotion")
	p := &promotion{fleet: f, whole: t, agents: map[string]*agent{}}
	p.prepare(t)
	p.server = f.serve(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"nobody passes a gate before there are clusters", p.wantNobody},
		{"clusters join with agents that may only read", p.join},
		{"what is there already arrives", func(t *testing.T) {
			p.wantArrived(t, p.head(t))
		}},
		{"a commit goes to dev, and from there to stage", p.promote},
		{"people can ask what happened", p.wantAnswers},
		{"what Flux cannot apply stops it, with cluster and object", p.breakIt},
		{"the fix goes on", func(t *testing.T) {
			p.wantArrived(t, p.change(t, unheardOf, "", "ask for what there is"))
			p.wantLabel(t, "promotion")
		}},
		{"a cluster that is cut off is not green", p.cutOff},
		{"back again it goes on", func(t *testing.T) {
			p.agents[drone].start(p.whole)
			p.wantArrived(t, p.head(t))
			p.wantLabel(t, "unheard-of")
		}},
		{"a cluster that is revoked is asked no more", p.revoke},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	must(t, p.server.Stop(t.Context()))
	f.wantDiscreetLog(t, p.server)
	for _, a := range p.agents {
		a.wantDiscreetLog(t)
	}
}

// promotion is the story of a chain of environments.
type promotion struct {
	*fleet
	// whole is the test of which the steps are parts: what has to last longer than a step belongs to it.
	whole  *testing.T
	server *server
	agents map[string]*agent
}

// prepare lets Kalypso merge what it proposes, makes clusters offline soon, and has them follow both environments.
func (p *promotion) prepare(t *testing.T) {
	t.Helper()
	p.mergeByItself(t)
	const gate = "    gate: {offlineAfter: 15s}\n"
	c := p.checkouts[controlPlaneMain]
	must(t, c.Replace(".environments/dev.yaml", "    approval: automatic\n", "    approval: automatic\n"+gate))
	must(t, c.Replace(".environments/stage.yaml", "    after: [dev]\n", "    after: [dev]\n"+gate))
	push(t, c, "clusters are offline soon")

	p.publish(t, "hello-world-app-gitops", stage, map[string]string{"uat-test/greeting.yaml": configMap("greeting", "hello")})
	p.publish(t, "platform-services-gitops", stage, map[string]string{
		"nginx/settings.yaml": configMap("nginx", "four workers"), "prometheus/settings.yaml": configMap("prometheus", "four weeks"),
	})
	p.followBoth(t)
}

func (p *promotion) wantNobody(t *testing.T) {
	eventually(t, "dev says that it has no clusters", func(context.Context) error {
		return saysAll(p.server.ask(t, 0, "status"), "no clusters; add one with kalypso cluster register NAME --member dev/CLUSTERTYPE")
	})
}

func (p *promotion) join(t *testing.T) {
	for name, c := range stack.Clusters {
		p.agents[name] = p.server.register(p.whole, c, dev, stage)
		p.agents[name].wantReadOnly(t)
	}
	eventually(t, "the clusters are heard of", func(context.Context) error {
		return saysAll(p.server.ask(t, 0, "cluster", "list"), drone, large)
	})
}

// promote changes something everywhere, and wants to see it go from one environment to the next.
func (p *promotion) promote(t *testing.T) {
	c := p.checkouts[controlPlaneMain]
	must(t, c.Replace(namespaceTemplate, "        labels:\n", "        labels:\n          "+quoted("promotion")+"\n"))
	commit := push(t, c, "tell the story")
	wantText(t, p.server.ask(t, 0, "wait", "-e", stage, "--commit", commit, "--timeout", "2m"), `^stage +`+commit[:7]+` +passed +2/2`)
	p.wantArrived(t, commit)
	p.wantLabel(t, "promotion")

	said := p.said(t, commit)
	// Whether a round sees the clusters deploy depends on how fast they are; cutOff has one that is not.
	for _, environment := range []string{dev, stage} {
		wantInOrder(t, said, environment+": pending Promoted", environment+": success Deployed")
	}
	wantInOrder(t, said, "dev: success Deployed", "stage: pending Promoted")
}

// wantAnswers asks about the commit that went through.
func (p *promotion) wantAnswers(t *testing.T) {
	short := p.head(t)[:7]
	wantText(t, p.server.ask(t, 0, "status"), `(?m)^dev +`+short+` +good +2/2.*\nstage +`+short+` +good +2/2`)
	wantText(t, p.server.ask(t, 0, "compare", dev, stage), `(?m)^commit +`+short+` +`+short+`$`)
	wantText(t, p.server.ask(t, 0, "history", "environment", stage), `promotion +.*`+short+`(?s:.*)promotion +.*`+short)
	wantText(t, p.server.ask(t, 0, "history", "cluster", large), `(?m)transition +Kustomization flux-system/platform-stage ready at `)
	wantText(t, p.server.ask(t, 0, "cluster", "show", drone), `(?m)^dev/drone +reached .*\nstage/drone +reached `)
}

// refused is a status that names a cluster and the first object that it does not take.
var refused = regexp.MustCompile(`^dev: failure Failed: .*(drone|large) fails at [0-9a-f]{7}: Namespace/dev-(drone|large)-`)

// unheardOf is something in a namespace that no API server takes, and that cannot be seen before.
const unheardOf = "        finalizers: [\"not a finalizer!\"]\n"

// breakIt makes a namespace that no API server takes.
func (p *promotion) breakIt(t *testing.T) {
	before := p.head(t)
	commit := p.change(t, "        labels:\n", unheardOf+"        labels:\n", "ask for what there is not")
	out := p.server.ask(t, 3, "wait", "-e", dev, "--commit", commit, "--timeout", "2m")
	wantText(t, out, `^dev +`+commit[:7]+` +failed`)
	eventually(t, "the status names cluster and object", func(ctx context.Context) error {
		said, err := p.repositories["control-plane"].Statuses(ctx, commit)
		if err != nil {
			return err
		}
		if !refused.MatchString(lastOf(said, dev)) {
			err = fmt.Errorf("said %q", said)
		}
		return err
	})
	p.wantUntouched(t, commit, before)
}

// cutOff takes an agent away. Its cluster goes on to do what it should, and nobody knows.
func (p *promotion) cutOff(t *testing.T) {
	before := p.head(t)
	must(t, p.agents[drone].Kill())
	commit := p.label(t, "promotion", "unheard-of")
	wantText(t, p.server.ask(t, 3, "wait", "-e", dev, "--commit", commit, "--timeout", "5s"), `^dev +`+commit[:7]+` +waits +`)
	eventually(t, "the reason names the cluster", func(context.Context) error {
		return saysAll(p.server.ask(t, 0, "status"), "drone offline since ")
	})
	eventually(t, "the other cluster is counted", func(context.Context) error {
		return saysAll(lastOf(p.said(t, commit), dev), "dev: pending Applying 1/2")
	})
	p.wantUntouched(t, commit, before)
}

// revoke takes a cluster out of the fleet: its agent is refused at once, and nobody waits for it any more.
func (p *promotion) revoke(t *testing.T) {
	p.server.ask(t, 0, "cluster", "revoke", drone)
	commit := p.label(t, "unheard-of", "alone")
	wantText(t, p.server.ask(t, 0, "wait", "-e", stage, "--commit", commit, "--timeout", "2m"), `^stage +`+commit[:7]+` +passed +1/1`)
	eventually(t, "the agent is refused", func(context.Context) error {
		log, err := p.agents[drone].Log()
		if err != nil {
			return err
		}
		return saysAll(log, "401")
	})
}

// label replaces the label of every namespace by a commit of main, and returns that.
func (p *promotion) label(t *testing.T, old, label string) string {
	t.Helper()
	return p.change(t, quoted(old), quoted(label), "say "+label)
}

// change changes what is in the template of every namespace.
func (p *promotion) change(t *testing.T, old, text, title string) string {
	t.Helper()
	c := p.checkouts[controlPlaneMain]
	must(t, c.Replace(namespaceTemplate, old, text))
	return push(t, c, title)
}

// head returns the newest commit of main.
func (p *promotion) head(t *testing.T) string {
	t.Helper()
	commit, err := p.repositories["control-plane"].Head(t.Context(), "main")
	must(t, err)
	return commit
}

// wantArrived waits until a commit is shown as deployed in both environments.
func (p *promotion) wantArrived(t *testing.T, commit string) {
	t.Helper()
	for _, environment := range []string{dev, stage} {
		eventually(t, commit[:7]+" arrives in "+environment, func(ctx context.Context) error {
			said, err := p.repositories["control-plane"].Statuses(ctx, commit)
			if err == nil && lastOf(said, environment) != environment+": success Deployed" {
				err = fmt.Errorf("said %q", said)
			}
			return err
		})
	}
}

// wantUntouched wants stage to run what it ran before a commit that does not get there.
func (p *promotion) wantUntouched(t *testing.T, commit, before string) {
	t.Helper()
	wantText(t, p.server.ask(t, 0, "compare", dev, stage), `(?m)^commit +`+commit[:7]+` +`+before[:7]+`$`)
	if last := lastOf(p.said(t, commit), stage); strings.Contains(last, "Deployed") {
		t.Errorf("the status in stage is %q", last)
	}
}

// wantLabel wants all namespaces of both environments to have the label.
func (p *promotion) wantLabel(t *testing.T, label string) {
	t.Helper()
	for _, c := range stack.Clusters {
		objects, err := c.List(t.Context(), harness.Namespaces)
		must(t, err)
		found := 0
		for _, o := range objects {
			if environment := o.GetLabels()["environment"]; environment == "" {
				continue
			}
			if found++; o.GetLabels()["story"] != label {
				t.Errorf("namespace %s on %s has the label %q, want %q", o.GetName(), c.Name, o.GetLabels()["story"], label)
			}
		}
		if found != 6 {
			t.Errorf("%d namespaces on %s, want 6", found, c.Name)
		}
	}
}

// said returns everything that was said about a commit of main, in order.
func (p *promotion) said(t *testing.T, commit string) []string {
	t.Helper()
	said, err := p.repositories["control-plane"].Statuses(t.Context(), commit)
	must(t, err)
	return said
}

// lastOf is what was said last about an environment.
func lastOf(said []string, environment string) string {
	for _, s := range slices.Backward(said) {
		if strings.HasPrefix(s, environment+": ") {
			return s
		}
	}
	return ""
}

// wantInOrder wants each beginning to come after the one before it.
func wantInOrder(t *testing.T, said []string, beginnings ...string) {
	t.Helper()
	rest := said
	for _, want := range beginnings {
		i := slices.IndexFunc(rest, func(s string) bool { return strings.HasPrefix(s, want) })
		if i < 0 {
			t.Errorf("said %q, want %q in this order", said, beginnings)
			return
		}
		rest = rest[i+1:]
	}
}

func saysAll(text string, wants ...string) error {
	for _, want := range wants {
		if !strings.Contains(text, want) {
			return fmt.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	return nil
}

func quoted(text string) string { return fmt.Sprintf("story: %q", text) }
