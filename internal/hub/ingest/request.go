package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

const (
	maxMemberships = 256
	maxLabels      = 64
	maxText        = 300
)

// check says everything that is wrong with a request.
func (q ClusterRequest) check() error {
	problems := []error{label("cluster", q.Name)}
	if len(q.Memberships) == 0 || len(q.Memberships) > maxMemberships {
		problems = append(problems, fmt.Errorf("%d memberships, want 1 to %d", len(q.Memberships), maxMemberships))
	} else {
		for _, m := range q.Memberships {
			problems = append(problems, label("environment", m.Environment), label("cluster type", m.ClusterType))
		}
	}
	problems = append(problems, checkLabels(q.Labels))
	if q.ReportedBy != "" {
		problems = append(problems, label("reported by", q.ReportedBy))
		switch {
		case q.ReportedBy == q.Name:
			problems = append(problems, errors.New("a cluster that reports about itself needs no reportedBy"))
		case q.PublicKey != "":
			problems = append(problems, errors.New("a cluster that is reported by another one has no public key of its own"))
		}
	}
	if q.PublicKey != "" {
		_, err := hub.ParseReportPublicKey([]byte(q.PublicKey))
		problems = append(problems, prefixed("public key", err))
	}
	if err := errors.Join(problems...); err != nil {
		return refuse(ErrInvalid, "%v", err)
	}
	return nil
}

func checkLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return fmt.Errorf("%d labels, want at most %d", len(labels), maxLabels)
	}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, p := range slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])) {
			problems = append(problems, fmt.Errorf("label %.100q: %s", key, p))
		}
	}
	return errors.Join(problems...)
}

// label wants a name that may be part of names of objects in Kubernetes.
func label(what, name string) error {
	for _, p := range validation.IsDNS1123Label(name) {
		return fmt.Errorf("%s %.100q: %s", what, name, p)
	}
	return nil
}

func prefixed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// keyID names a public key; "" for what is none.
func keyID(publicKey string) string {
	key, err := hub.ParseReportPublicKey([]byte(publicKey))
	if err != nil {
		return ""
	}
	return hub.KeyID(key)
}

func compareMemberships(a, b ledger.Membership) int {
	return cmp.Or(cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.ClusterType, b.ClusterType))
}

// collision says which two memberships of a cluster would make resources of one name on it, if any two would.
// Targets are those that are known to be assigned; others that come later are not foreseen.
func collision(memberships []ledger.Membership, targets map[ledger.Membership][]string) error {
	owner := map[string]ledger.Membership{}
	sorted := slices.Clone(memberships)
	slices.SortFunc(sorted, compareMemberships)
	for i, m := range sorted {
		if i > 0 && sorted[i-1] == m {
			return refuse(ErrInvalid, "membership %s/%s is there twice", m.Environment, m.ClusterType)
		}
		names := []string{m.Environment + "-" + m.ClusterType}
		for _, target := range targets[m] {
			names = append(names, render.Namespace(m.Environment, m.ClusterType, target))
		}
		for _, name := range names {
			if other, taken := owner[name]; taken && other != m {
				return refuse(ErrConflict, "memberships %s/%s and %s/%s would both have %q on the cluster: let another cluster serve one of them, or rename the cluster type",
					other.Environment, other.ClusterType, m.Environment, m.ClusterType, name)
			}
			owner[name] = m
		}
	}
	return nil
}
