package operator

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// defaultMaxAssignments keeps a control plane far below the sizes at which the objects of schedulers become a load for etcd.
const defaultMaxAssignments = 200

// LabelControlPlane of an Assignment is the UID of the ControlPlane that it belongs to.
const LabelControlPlane = "scheduler.kalypso.io/control-plane"

// assignmentsOf is the result of an environment's round.
type assignmentsOf struct {
	environment string
	outcome     *outcome
	err         error
}

// writeAssignments makes the Assignment objects those of the last rounds. Objects of an environment whose round failed stay as they are.
func (r *run) writeAssignments(ctx context.Context, rounds []assignmentsOf) error {
	wants := r.plane.Spec.Assignments != nil && r.plane.Spec.Assignments.Objects
	if !wants && r.plane.Status.Assignments == "" {
		return nil // none were ever written
	}
	wanted, kept, text := map[string]*v1alpha1.Assignment{}, map[string]bool{}, ""
	limit := cmp.Or(r.MaxAssignments, defaultMaxAssignments)
	total := 0
	for _, round := range rounds {
		switch made := r.assignments(round); {
		case !wants:
		case round.err != nil || round.outcome == nil || round.outcome.Bundle == nil:
			kept[round.environment] = true
		case len(made) > limit:
			text += fmt.Sprintf("%s has %d assignments, and objects are written for up to %d; see branch %q of %s. ",
				round.environment, len(made), limit, round.outcome.GitOps.Branch, round.outcome.GitOps.Repo)
		default:
			for _, a := range made {
				wanted[a.Name] = a
			}
			total += len(made)
		}
	}
	if len(wanted) > 0 && r.plane.Status.Assignments == "" {
		// An operator that is killed now leaves objects behind. The next one finds them because of this status, also if none are wanted any more.
		r.plane.Status.Assignments = "objects are being written"
		if err := r.patch(ctx, r.plane, r.before); err != nil {
			return err
		}
		r.before = r.plane.DeepCopy()
	}
	left, err := r.applyAssignments(ctx, wanted, kept)
	if err != nil {
		return explain(fmt.Errorf("write Assignment objects: %w", err))
	}
	total += left
	switch {
	case !wants:
		r.plane.Status.Assignments = ""
	default:
		r.plane.Status.Assignments = message(text + count(int32(total), "object") + " written") //nolint:gosec // bounded by the limit
	}
	return nil
}

// labelEnvironment of an Assignment is its environment.
const labelEnvironment = "scheduler.kalypso.io/environment"

// assignments returns the Assignment objects of a round.
func (r *run) assignments(round assignmentsOf) []*v1alpha1.Assignment {
	if round.outcome == nil || round.outcome.Bundle == nil {
		return nil
	}
	var all []*v1alpha1.Assignment
	for _, folder := range round.outcome.Bundle.Folders {
		for _, a := range folder.Assignments {
			o := &v1alpha1.Assignment{Spec: v1alpha1.AssignmentSpec{ClusterType: a.ClusterType, DeploymentTarget: a.Target, Policies: a.Policies}}
			o.Namespace = r.plane.Namespace
			// The parts have no dots, so different assignments have different names.
			o.Name = strings.Join([]string{r.plane.Name, round.environment, strings.ReplaceAll(a.Folder(), "/", "."), a.Target}, ".")
			o.Labels = map[string]string{LabelControlPlane: string(r.plane.UID), labelEnvironment: round.environment}
			all = append(all, o)
		}
	}
	return all
}

// applyAssignments creates, updates and deletes the objects of this control plane, and no others. It returns how many objects it has left as they
// are, because their environment is kept.
func (r *run) applyAssignments(ctx context.Context, wanted map[string]*v1alpha1.Assignment, kept map[string]bool) (left int, err error) {
	var list v1alpha1.AssignmentList
	err = r.Reader.List(ctx, &list, client.InNamespace(r.plane.Namespace), client.MatchingLabels{LabelControlPlane: string(r.plane.UID)})
	if err != nil {
		return 0, err
	}
	for i := range list.Items {
		is := &list.Items[i]
		if kept[is.Labels[labelEnvironment]] {
			left++
			continue
		}
		want := wanted[is.Name]
		delete(wanted, is.Name)
		switch {
		case want == nil:
			err = client.IgnoreNotFound(r.Client.Delete(ctx, is))
		case !reflect.DeepEqual(is.Spec, want.Spec):
			is.Spec = want.Spec
			err = r.Client.Update(ctx, is)
		}
		if err != nil {
			return left, err
		}
	}
	for _, o := range wanted {
		// The garbage collector removes the object with its ControlPlane.
		if err := controllerutil.SetOwnerReference(r.plane, o, r.Client.Scheme()); err != nil {
			return left, err
		}
		if err := r.Client.Create(ctx, o); apierrors.IsAlreadyExists(err) {
			return left, fmt.Errorf("%s exists and belongs to something else: %w", o.Name, err)
		} else if err != nil {
			return left, err
		}
	}
	return left, nil
}
