package query_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

const (
	controlPlane = "https://git.example.com/control-plane"
	host         = "https://git.example.com/"
)

// world is a ledger with facts that are written one per line.
type world struct {
	*sqlite.Ledger
	t testing.TB
	// folders are the cluster types by cluster and environment, which clusters follow.
	folders map[[2]string]string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &world{l, t, map[[2]string]string{}}
}

// clock returns a time on the day of all facts.
func clock(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", "2026-03-02 "+text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// sha returns the full hash for the first digits of a commit.
func sha(short string) string {
	if len(short) >= 40 || strings.Trim(short, "0123456789abcdef") != "" {
		return short
	}
	return short + strings.Repeat("0", 40-len(short))
}

// fact records a line: a time, a kind, and its details.
//
//	10:00 register CLUSTER ENVIRONMENT/TYPE... LABEL=VALUE...
//	10:00 revoke CLUSTER
//	10:01 platform ENVIRONMENT COMMIT SOURCE|- TYPE/WORKLOAD-TARGET...
//	10:02 ring ENVIRONMENT RING COMMIT ORIGIN
//	10:02 application WORKLOAD ENVIRONMENT COMMIT TARGET=VERSION...
//	10:03 report CLUSTER ENVIRONMENT[@RING] platform|WORKLOAD/TARGET COMMIT STATE MESSAGE
//	10:04 heard CLUSTER
//	10:05 step ENVIRONMENT COMMIT KIND BY DETAIL REASON
//	10:05 delivered SOURCE#WORKLOAD ENVIRONMENT COMMIT KIND BY DETAIL REASON
//	10:06 change REPOSITORY@BRANCH NUMBER KIND TITLE
//	10:07 audit BY ACTION SUBJECT
func (w *world) fact(line string) {
	w.t.Helper()
	f := strings.Fields(line)
	at, args := clock(w.t, f[0]), f[2:]
	ctx := w.t.Context()
	var err error
	switch f[1] {
	case "register":
		r := registration(args, at)
		for _, m := range r.Memberships {
			w.folders[[2]string{r.Cluster, m.Environment}] = m.ClusterType
		}
		err = w.Register(ctx, r)
	case "revoke":
		err = w.Register(ctx, ledger.Registration{Cluster: args[0], Revoked: true, At: at, By: "ann"})
	case "platform":
		err = w.RecordCommit(ctx, platformCommit(args, at))
	case "ring":
		err = w.RecordCommit(ctx, ledger.Commit{
			Repository: host + "platform-gitops", Branch: fleet.RingBranch(args[0], args[1]), Environment: args[0], SHA: sha(args[2]),
			Origin: sha(args[3]), Kind: ledger.BranchRing, Committed: at, Recorded: at,
		})
	case "application":
		err = w.RecordCommit(ctx, applicationCommit(args, at))
	case "report":
		err = w.Report(ctx, w.report(args, at))
	case "heard":
		err = w.Heard(ctx, args[0], at)
	case "step":
		err = w.RecordStep(ctx, step(controlPlane, args, at))
	case "delivered":
		err = w.RecordStep(ctx, step(host+args[0], args[1:], at))
	case "change":
		n, _ := strconv.Atoi(args[1])
		repository, branch, _ := strings.Cut(args[0], "@")
		err = w.RecordChange(ctx, ledger.ChangeEvent{
			Repository: host + repository, Branch: branch, Number: n, Kind: args[2], Title: strings.Join(args[3:], " "), At: at,
		})
	case "audit":
		err = w.RecordAudit(ctx, ledger.AuditEntry{At: at, By: args[0], Action: args[1], Subject: strings.Join(args[2:], " ")})
	default:
		err = fmt.Errorf("%s is no kind of facts", f[1])
	}
	if err != nil {
		w.t.Fatalf("%s: %v", line, err)
	}
}

func registration(args []string, at time.Time) ledger.Registration {
	r := ledger.Registration{Cluster: args[0], Labels: map[string]string{}, At: at, By: "ann"}
	for _, arg := range args[1:] {
		if name, value, ok := strings.Cut(arg, "="); ok {
			r.Labels[name] = value
			continue
		}
		environment, clusterType, _ := strings.Cut(arg, "/")
		r.Memberships = append(r.Memberships, ledger.Membership{Environment: environment, ClusterType: clusterType})
	}
	return r
}

func platformCommit(args []string, at time.Time) ledger.Commit {
	c := ledger.Commit{
		Repository: host + "platform-gitops", Branch: args[0], Environment: args[0], SHA: sha(args[1]), SourceCommit: sha(args[2]),
		Kind: ledger.BranchPlatform, Committed: at, Recorded: at,
	}
	if args[2] == "-" {
		c.SourceCommit = ""
	}
	for _, arg := range args[3:] {
		clusterType, target, _ := strings.Cut(arg, "/")
		workload, _, _ := strings.Cut(target, "-")
		c.Assignments = append(c.Assignments, ledger.Assignment{ClusterType: clusterType, Target: target, Workload: workload, Workspace: workload + "-team"})
	}
	return c
}

func applicationCommit(args []string, at time.Time) ledger.Commit {
	c := ledger.Commit{
		Repository: host + args[0] + "-gitops", Branch: args[1], Environment: args[1], SHA: sha(args[2]),
		Kind: ledger.BranchApplication, Committed: at, Recorded: at,
	}
	for _, arg := range args[3:] {
		target, version, _ := strings.Cut(arg, "=")
		c.Versions = append(c.Versions, ledger.Version{
			Workload: args[0], Workspace: args[0] + "-team", Target: target, Environment: args[1], Path: target,
			Version: version, Built: at.Add(-10 * time.Minute),
		})
	}
	return c
}

func (w *world) report(args []string, at time.Time) ledger.Report {
	environment, ring, inRing := strings.Cut(args[1], "@")
	source := ledger.Source{Repository: host + "platform-gitops", Ref: environment, Path: w.folders[[2]string{args[0], environment}]}
	if inRing {
		source.Ref = fleet.RingBranch(environment, ring)
	}
	name := "platform-" + environment
	if workload, target, ok := strings.Cut(args[2], "/"); ok {
		source = ledger.Source{Repository: host + workload + "-gitops", Ref: args[1], Path: target}
		name = workload + "-" + target + "-" + args[1]
	}
	return ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: args[0], Kind: "Kustomization", Namespace: "flux-system", Name: name},
		Outcome:    ledger.Outcome{Source: source, Revision: sha(args[3]), State: ledger.State(args[4]), Message: strings.Join(args[5:], " ")},
		Observed:   at, Received: at,
	}
}

func step(subject string, args []string, at time.Time) ledger.Step {
	s := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: subject, Environment: args[0], Commit: sha(args[1])},
		Kind:        args[2], By: strings.Trim(args[3], "-"), Reason: strings.Join(args[5:], " "), At: at,
	}
	if args[4] != "-" {
		s.Detail = json.RawMessage(args[4])
	}
	return s
}

// planes is a fleet that does not change.
type planes []query.ControlPlane

func (p planes) ControlPlanes() []query.ControlPlane { return p }

// scheduled returns the result of a scheduling round that assigned every target to every cluster type. text has a
// line for each target, WORKLOAD TARGET, for each cluster type, TYPE LABEL=VALUE, and
// for each Cluster object, cluster NAME TYPE, and for each ring, ring NAME.
func scheduled(environment, text string, p *plan.Plan, at time.Time) *query.Scheduled {
	s := &fleet.Snapshot{Environment: environment, GitOps: &fleet.GitOpsRepo{Repo: host + "platform-gitops.git", Branch: environment, Path: "clusters"}}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if f[0] == "ring" {
			s.Rings = append(s.Rings, fleet.Ring{Name: f[1]})
			continue
		}
		if f[0] == "cluster" {
			s.Clusters = append(s.Clusters, &fleet.Cluster{Name: f[1], Type: f[2], Ring: "canary"})
			continue
		}
		if label, value, ok := strings.Cut(f[1], "="); ok {
			s.ClusterTypes = append(s.ClusterTypes, &fleet.ClusterType{Name: f[0], Labels: map[string]string{label: value}})
			continue
		}
		s.Targets = append(s.Targets, &fleet.Target{
			Name: f[0] + "-" + f[1], ShortName: f[1], Workload: f[0], Workspace: f[0] + "-team",
			Manifests: map[string]string{"repo": host + f[0] + "-gitops.git", "branch": environment, "path": "./" + f[1]},
		})
	}
	s.Policies = []*fleet.Policy{{Name: "everything", Targets: labels.Everything(), ClusterTypes: labels.Everything()}}
	o := &schedule.Outcome{Plan: p, Waits: "its checks run"}
	if p != nil {
		o.PullRequest = &forge.PullRequest{Number: 7, Title: "dev: 1 added", URL: host + "platform-gitops/pulls/7", CreatedAt: at}
	}
	return &query.Scheduled{At: at, Outcome: o, Snapshot: s, Decisions: placement.Decide(s, placement.Options{})}
}

// fleetOf returns the fleet of one control plane that a case describes; nil if it describes none.
func fleetOf(t *testing.T, promotion, targets, planned string, at time.Time) query.Fleet {
	t.Helper()
	if promotion == "" && targets == "" {
		return nil
	}
	cp := query.ControlPlane{URL: controlPlane, Scheduling: map[string]*query.Scheduled{}}
	if promotion != "" {
		cp.Promotion = &promote.Outcome{}
		decode(t, promotion, cp.Promotion)
		// The JSON does not include the commits of main: here they are c1 to c4.
		for i := range 4 {
			cp.Promotion.Line = append(cp.Promotion.Line, promote.Commit{SHA: sha(fmt.Sprintf("c%d", i+1)), Subject: fmt.Sprintf("change %d", i+1)})
		}
	}
	if targets != "" {
		var p *plan.Plan
		if planned != "" {
			p = &plan.Plan{}
			decode(t, planned, p)
		}
		cp.Scheduling["dev"] = scheduled("dev", targets, p, at)
	}
	return planes{cp}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
