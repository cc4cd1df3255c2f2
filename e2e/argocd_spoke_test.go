package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	report "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/e2e/harness"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// TestArgoCDHubAndSpoke: one Argo CD serves its own cluster and another one. The agent on the hub reports each Application for the
// cluster that it applies to, and only for clusters that were granted to it.
func TestArgoCDHubAndSpoke(t *testing.T) {
	t.Parallel()
	s := &spokeStory{argoFleet: newArgoFleet(t, "spoke"), whole: t}
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"each cluster gets what is assigned to it", s.deliver},
		{"the agent is refused until an admin lets it report for the spoke", s.join},
		{"each Application is reported for its cluster", s.wantAssigned},
		{"what breaks on the spoke is not reported for the hub", s.breakSpoke},
		{"a commit that crashes on both fails its gate, and its fix passes", s.crash},
		{"Applications for other clusters are left out, and the operator is told", s.leaveOut},
		{"a spoke that Argo CD cannot reach is not up to date", s.cutOff},
		{"without the agent both are offline", s.offline},
		{"the spoke reports itself, and the hub may not any more", s.separate},
		{"with the hub's credential ends what it may report", s.revoke},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	must(t, s.server.Stop(t.Context()))
	s.wantDiscreetLog(t, s.server)
	s.agent.wantDiscreetLog(t)
}

// spokeStory is the story of a hub and a spoke.
type spokeStory struct {
	*argoFleet
	// whole is the test of which the steps are parts.
	whole *testing.T
	// version is the application's commit that both clusters run.
	version string
}

// The namespaces of the application's target, which are the names of its Applications.
var onHub, onSpoke = namespaceOf(hubCluster, dev, target), namespaceOf(spokeCluster, dev, target)

func (s *spokeStory) deliver(t *testing.T) {
	hub, spoke := s.argo.Hub, s.argo.spoke
	s.version = s.shop(t, "v1")
	s.scheduleAndMerge(t)
	const reconcilers = "*/reconciler.yaml"
	s.follow(s.whole, "platform-hub", hubCluster, inCluster, map[string]any{"recurse": true})
	s.follow(s.whole, "platform-spoke-reconcilers", spokeCluster, inCluster, map[string]any{"recurse": true, "include": reconcilers})
	s.follow(s.whole, "platform-spoke", spokeCluster, spokeDestination, map[string]any{"recurse": true, "exclude": reconcilers})
	watchFor(t, hub, onHub, rolledOut)
	watchFor(t, spoke, onSpoke, rolledOut)
	wantObject(t, spoke, harness.ConfigMaps, onSpoke, "platform-config", true)
	wantObject(t, hub, harness.Namespaces, "", onSpoke, false)
	wantObject(t, spoke, harness.Namespaces, "", harness.ArgoCDNamespace, false)
}

func (s *spokeStory) join(t *testing.T) {
	s.server = s.serve(s.whole)
	s.agent = s.server.registerWith(s.whole, s.argo.Hub, []string{"--destination", spokeDestination + "=" + spokeCluster}, dev)
	s.wantLogged(t, `the credential belongs to cluster \"hub\", which does not report for \"spoke\"`)
	wantText(t, s.grant(t), `it is reported by hub`)
	head, err := s.repositories["control-plane"].Head(t.Context(), "main")
	must(t, err)
	// The commit is deployed on the hub before the spoke is registered: until a round has counted both, it has passed on one.
	eventually(t, "both clusters run it", func(context.Context) error { return saysAll(s.server.ask(t, 0, "status"), "2/2") })
	eventually(t, "a round has counted both clusters", func(context.Context) error {
		return saysAll(s.server.ask(t, 0, "wait", "-e", dev, "--commit", head, "--timeout", "2m"), "passed  2/2")
	})
	s.wantAnswer(t, head, 0, `passed +2/2`, `good +2/2`)
	wantText(t, s.server.ask(t, 0, "cluster", "show", spokeCluster), `(?m)^reported by +hub$`)
}

// grant registers the spoke as reported by the hub.
func (s *spokeStory) grant(t *testing.T) string {
	t.Helper()
	return s.server.ask(t, 0, "cluster", "register", spokeCluster, "--member", dev+"/"+spokeCluster, "--reported-by", hubCluster)
}

// wantLogged waits until the agent has logged a text.
func (s *spokeStory) wantLogged(t *testing.T, text string) {
	t.Helper()
	eventually(t, "the agent logs "+text, func(context.Context) error {
		log, err := s.agent.Log()
		if err != nil {
			return err
		}
		return saysAll(log, text)
	})
}

func (s *spokeStory) wantAssigned(t *testing.T) {
	for cluster, want := range map[string][]string{
		hubCluster:   {onHub, "dev-hub-nginx-dev", "dev-hub-prometheus-dev", "platform-hub", "platform-spoke-reconcilers"},
		spokeCluster: {onSpoke, "dev-spoke-nginx-dev", "dev-spoke-prometheus-dev", "platform-spoke"},
	} {
		eventually(t, cluster+" has its Applications", func(context.Context) error {
			var got []string
			for _, r := range s.show(t, cluster).Reconcilers {
				got = append(got, r.Name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("(-want +got):\n%s", diff)
			}
			return nil
		})
	}
	s.wantState(t, hubCluster, onHub, ledger.StateReady, s.version, "")
	s.wantState(t, spokeCluster, onSpoke, ledger.StateReady, s.version, "")
}

func (s *spokeStory) breakSpoke(t *testing.T) {
	p := podOf(t, s.argo.spoke, onSpoke, "v1")
	must(t, s.argo.spoke.Annotate(t.Context(), harness.Pods, onSpoke, p.GetName(), harness.Crash, "yes"))
	s.wantState(t, spokeCluster, onSpoke, ledger.StateProgressing, s.version, "")
	s.wantState(t, hubCluster, onHub, ledger.StateReady, s.version, "")
	must(t, s.argo.spoke.Annotate(t.Context(), harness.Pods, onSpoke, p.GetName(), harness.Crash, ""))
	s.wantState(t, spokeCluster, onSpoke, ledger.StateReady, s.version, "")
}

func (s *spokeStory) crash(t *testing.T) {
	s.wantAnswer(t, s.addSidecars(t), 0, `passed +2/2`, `good +2/2`)
	s.wantAnswer(t, s.sidecarImage(t, "v1", "crash"), 3, `failed`, `failed`)
	fixed := s.sidecarImage(t, "crash", "v2")
	s.wantAnswer(t, fixed, 0, `passed +2/2`, `good +2/2`)
}

func (s *spokeStory) leaveOut(t *testing.T) {
	objects, err := harness.Documents(fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: elsewhere, namespace: argocd}
spec:
  project: default
  source: {repoURL: %s, targetRevision: dev, path: hub}
  destination: {name: far}
`, s.gitops.URL()))
	must(t, err)
	must(t, s.argo.Hub.Apply(t.Context(), objects...))
	defer func() { must(t, s.argo.Hub.Delete(context.Background(), objects...)) }()
	s.wantLogged(t, `"destinations":"far (1)"`)
	for _, cluster := range []string{hubCluster, spokeCluster} {
		for _, r := range s.show(t, cluster).Reconcilers {
			if r.Name == "elsewhere" {
				t.Errorf("it is reported for %s", cluster)
			}
		}
	}
	result, err := kalypso.Agent().Run(t.Context(), "--check", "--state-dir", filepath.Join(filepath.Dir(s.agent.credential), "state"))
	must(t, err)
	must(t, saysAll(result.Stdout, "1 applications for far are not reported", "for spoke it knows 4 reconcilers"))
}

// cutOff takes Argo CD's credential for the spoke away. Argo CD goes on to call everything there healthy.
func (s *spokeStory) cutOff(t *testing.T) {
	must(t, s.argo.LoseCluster(t.Context(), spokeDestination, s.argo.spoke))
	member := func(cluster string) error {
		d := s.show(t, cluster)
		if len(d.Memberships) != 1 || d.Memberships[0].State != "reached" {
			return fmt.Errorf("%s is %+v", cluster, d.Memberships)
		}
		return nil
	}
	eventually(t, "the spoke is not up to date", func(context.Context) error {
		if member(spokeCluster) == nil {
			return errors.New("it is")
		}
		for _, r := range s.show(t, spokeCluster).Reconcilers {
			if r.State == ledger.StateReady || r.Health == report.HealthHealthy {
				return fmt.Errorf("%s is %s and %s", r.Name, r.State, r.Health)
			}
		}
		return nil
	})
	must(t, member(hubCluster))
	must(t, s.argo.AddCluster(t.Context(), spokeDestination, s.argo.spoke))
	eventually(t, "the spoke is up to date again", func(context.Context) error { return member(spokeCluster) })
}

func (s *spokeStory) offline(t *testing.T) {
	must(t, s.agent.Kill())
	eventually(t, "both are offline", func(context.Context) error {
		return saysAll(s.server.ask(t, 0, "status"), "2 clusters offline (hub, spoke)")
	})
	s.agent.start(s.whole)
	eventually(t, "both are back", func(context.Context) error { return saysAll(s.server.ask(t, 0, "status"), "2/2") })
}

func (s *spokeStory) separate(t *testing.T) {
	credential := filepath.Join(t.TempDir(), "spoke.token")
	s.server.ask(t, 0, "cluster", "register", spokeCluster, "--member", dev+"/"+spokeCluster, "--credential", credential)
	if n := len(s.show(t, spokeCluster).Reconcilers); n != 0 {
		t.Errorf("%d reconcilers of the spoke are known after a change of its reporter, want none", n)
	}
	result, err := kalypso.With("KALYPSO_SERVER="+s.server.url).Run(t.Context(), "status", "--token-file", credential)
	must(t, err)
	if result.Code == 0 {
		t.Error("the credential of a cluster reads the fleet")
	}
	s.grant(t)
	eventually(t, "the hub reports for the spoke again", func(context.Context) error { return saysAll(s.server.ask(t, 0, "status"), "2/2") })
	s.wantAssigned(t)
}

func (s *spokeStory) revoke(t *testing.T) {
	s.server.ask(t, 0, "cluster", "revoke", hubCluster)
	s.wantLogged(t, "401")
	if by := s.show(t, spokeCluster).ReportedBy; by != "" {
		t.Errorf("the spoke is still reported by %s", by)
	}
}
