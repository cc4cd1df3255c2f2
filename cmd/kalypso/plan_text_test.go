package main

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
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
		if got := sentence(fleet.Problem{Object: tt.object, Message: tt.message}); got != tt.want {
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
		if got := placed(tt.message, tt.position); got != tt.want {
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
		if got := value(tt.value); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
