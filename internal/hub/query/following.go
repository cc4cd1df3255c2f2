package query

import (
	"cmp"
	"fmt"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/pull"
)

// Following is the folder of a GitOps branch that a cluster follows.
type Following struct {
	hub.Source
	// Reconciler is one of [pull.Reconcilers]; empty if it is not known.
	Reconciler string
	// Windows and Hold say when the cluster may be changed, as its Cluster object has them.
	Windows []v1alpha1.Window
	Hold    *v1alpha1.Hold
}

// Following returns what a cluster follows as a member of an environment, as the last round has read it: the folder of its type or its own, on
// the branch of the environment or of its ring. An environment that no round has read is an error, and so is a cluster whose object cannot be read.
func (o *Observer) Following(cluster string, m ledger.Membership) (Following, error) {
	controlPlane, err := o.ControlPlaneOf(m.Environment, "")
	if err != nil {
		return Following{}, err
	}
	for _, s := range o.standings() {
		if s.name != m.Environment || s.controlPlane != controlPlane || s.scheduled == nil || s.scheduled.Snapshot == nil || s.scheduled.Outcome == nil {
			continue
		}
		at := s.scheduled.Outcome.GitOps
		ct := s.scheduled.Snapshot.ClusterType(m.ClusterType)
		switch {
		case at.Repo == "":
			return Following{}, fmt.Errorf("environment %q has no GitOps repository that can be read", m.Environment)
		case ct == nil:
			return Following{}, fmt.Errorf("environment %q has no cluster type %q that can be read", m.Environment, m.ClusterType)
		}
		f := Following{Source: hub.Source{Repository: at.Repo, Ref: at.Branch, Path: join(at.Path, m.ClusterType)}, Reconciler: pull.ReconcilerOf(ct)}
		if c := s.scheduled.Snapshot.Cluster(cluster); c != nil {
			f.Windows, f.Hold = c.Windows, c.Hold
		} else if file, lost := lostCluster(s.scheduled.Snapshot, cluster); lost {
			return Following{}, fmt.Errorf("the object of cluster %q in environment %q cannot be read, or may be in %s, which cannot be read", cluster, m.Environment, file)
		}
		object := s.scheduled.clusterObject(cluster)
		if object == nil || object.ClusterType != m.ClusterType {
			return f, nil
		}
		f.Reconciler = pull.ReconcilerOf(ct.Of(s.scheduled.Snapshot.Cluster(cluster)))
		f.Ref = cmp.Or(object.Branch, f.Ref)
		if object.Folder != "" {
			f.Path = join(at.Path, object.Folder)
		}
		return f, nil
	}
	return Following{}, fmt.Errorf("environment %q has not been read yet", m.Environment)
}

// lostCluster reports whether the object of a cluster may be in what cannot be read, and where: its folder and its windows are then not known.
func lostCluster(s *fleet.Snapshot, cluster string) (at string, lost bool) {
	for _, u := range s.Unreadable {
		if u.Owner == (fleet.Owner{}) && (u.Ref == fleet.Ref{} || u.Ref.Kind == "Cluster" && (u.Nameless || u.Ref.Name == cluster)) {
			return u.Position.String(), true
		}
	}
	return "", false
}

func join(root, folder string) string {
	if root == "" {
		return folder
	}
	return root + "/" + folder
}
