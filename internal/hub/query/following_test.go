package query_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// A cluster whose object cannot be read may have a folder and windows of its own, so what it follows is not known.
func TestWhatAClusterFollowsNeedsItsObject(t *testing.T) {
	t.Parallel()
	s := scheduled("dev", "edge zone=north\ncluster nights edge\n", nil, time.Now())
	s.Outcome.GitOps = schedule.Location{Repo: s.Snapshot.GitOps.Repo, Branch: s.Snapshot.GitOps.Branch, Path: s.Snapshot.GitOps.Path}
	s.Snapshot.Clusters[0].Windows = []v1alpha1.Window{{Cron: "0 2 * * *"}}
	s.Snapshot.Clusters[0].Hold = &v1alpha1.Hold{Reason: "inventory"}
	o := &query.Observer{Ledger: newWorld(t).Ledger, Fleet: planes{{URL: controlPlane, Scheduling: map[string]*query.Scheduled{"dev": s}}}, Now: time.Now}
	at := fleet.Position{File: "clusters.yaml", Line: 7}
	for _, test := range []struct {
		name, cluster string
		unreadable    fleet.Unreadable
		want          string // of the error
	}{
		{"it can be read", "nights", fleet.Unreadable{Ref: fleet.Ref{Kind: "Cluster", Name: "east"}}, ""},
		{"its object cannot be read", "east", fleet.Unreadable{Ref: fleet.Ref{Kind: "Cluster", Name: "east"}, Position: at}, "may be in clusters.yaml:7"},
		{"it may be the one without a name", "east", fleet.Unreadable{Ref: fleet.Ref{Kind: "Cluster"}, Nameless: true, Position: at}, "cannot be read"},
		{"it may be in a file", "east", fleet.Unreadable{Position: at}, "cannot be read"},
		{"another one cannot be read", "east", fleet.Unreadable{Ref: fleet.Ref{Kind: "Cluster", Name: "west"}}, ""},
		{"applications have no clusters", "east", fleet.Unreadable{Owner: fleet.Owner{Workspace: "shops"}}, ""},
	} {
		s.Snapshot.Unreadable = []fleet.Unreadable{test.unreadable}
		f, err := o.Following(test.cluster, ledger.Membership{Environment: "dev", ClusterType: "edge"})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if own := test.cluster == "nights"; err == nil && (own != (len(f.Windows) == 1) || own != (f.Hold != nil) || f.Path != "clusters/edge") {
			t.Errorf("%s: got %+v", test.name, f)
		}
	}
}
