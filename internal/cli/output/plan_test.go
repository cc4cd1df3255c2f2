package output

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

func TestSentence(t *testing.T) {
	small := fleet.Ref{Kind: "ClusterType", Name: "small"}
	for _, tt := range []struct {
		object        fleet.Ref
		message, want string
	}{
		{small, "selects nothing", "ClusterType small: selects nothing"},
		{small, `cluster type "small" is no more`, `cluster type "small" is no more`},
		{small, "ClusterType/small cannot be read", "ClusterType/small cannot be read"},
		{small, "is smaller than that", "ClusterType small: is smaller than that"},
		{small, "is in west/small/small-type.yaml", "ClusterType small: is in west/small/small-type.yaml"},
		{fleet.Ref{}, "the file is broken", "the file is broken"},
		{fleet.Ref{Kind: "ClusterType", Name: strings.Repeat("x", 64)}, "is too long", "is too long"},
	} {
		if got := Message(fleet.Problem{Object: tt.object, Message: tt.message}); got != tt.want {
			t.Errorf("sentence of %q: got %q, want %q", tt.message, got, tt.want)
		}
	}
}

func TestPlaced(t *testing.T) {
	at := fleet.Position{Source: "dev", File: "a.yaml", Line: 7}
	for _, tt := range []struct {
		position      fleet.Position
		message, want string
	}{
		{at, "is wrong", "is wrong  (a.yaml:7)"},
		{at, "a.yaml cannot be read", "a.yaml:7 cannot be read"},
		{at, "a.yaml:7 is wrong", "a.yaml:7 is wrong"},
		{fleet.Position{Source: "dev"}, "has nothing", "has nothing"},
	} {
		if got := WithPosition(tt.message, tt.position); got != tt.want {
			t.Errorf("%q at %v: got %q, want %q", tt.message, tt.position, got, tt.want)
		}
	}
}

func TestValueIsCut(t *testing.T) {
	empty, long := "", strings.Repeat("ä", maxValue+1)
	for _, tt := range []struct {
		value *string
		want  string
	}{
		{nil, "(not set)"},
		{&empty, `""`},
		{&long, strings.Repeat("ä", maxValue) + "…"},
	} {
		if got := Value(tt.value); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestMostUrgent(t *testing.T) {
	var groups []plan.Group
	for i := range 3 * maxGroups {
		op := plan.Changed
		if i == 2*maxGroups {
			op = plan.Removed
		}
		groups = append(groups, plan.Group{Op: op, Changes: make([]*plan.Change, 2)})
	}
	shown, left := mostUrgent(groups)
	if len(shown) != maxGroups || left != 2*2*maxGroups {
		t.Errorf("got %d groups and %d assignments left, want %d and %d", len(shown), left, maxGroups, 4*maxGroups)
	}
	if last := shown[len(shown)-1]; last.Op != plan.Removed {
		t.Errorf("got %q last, want what is removed", last.Op)
	}
	if shown, left := mostUrgent(groups[:3]); len(shown) != 3 || left != 0 {
		t.Errorf("got %d groups and %d left of a short plan", len(shown), left)
	}
}

func TestGroupsThatLoseSeveralThings(t *testing.T) {
	small, large := &plan.Change{ClusterType: "small", Gone: []plan.Object{{Kind: "Namespace", Name: "a"}}}, &plan.Change{ClusterType: "large", Gone: []plan.Object{{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "flux-system", Name: "b"}}}
	for _, tt := range []struct {
		changes []*plan.Change
		lost    string
	}{
		{[]*plan.Change{small}, "clusters delete Namespace a, and everything in it"},
		{[]*plan.Change{large, small}, "clusters delete 2 objects, such as Kustomization flux-system/b, and what it applied"},
	} {
		g := plan.Group{Op: plan.Removed, Changes: tt.changes}
		if got := gone(g); got != tt.lost {
			t.Errorf("got %q, want %q", got, tt.lost)
		}
	}
}
