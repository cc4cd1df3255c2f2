package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

func TestDiagnoseCluster(t *testing.T) {
	t.Parallel()
	heard := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	member := func(m query.Membership) []query.Membership {
		m.Environment, m.ClusterType = "dev", "large"
		return []query.Membership{m}
	}
	for _, test := range []struct {
		name    string
		cluster query.Cluster
		state   doctorState
		want    string
	}{
		{"reports", query.Cluster{Registered: true, LastHeard: heard, Memberships: member(query.Membership{State: comply.Reached})}, doctorOK, ""},
		{"not registered", query.Cluster{LastHeard: heard}, doctorWarning, "not registered"},
		{"never reported", query.Cluster{Registered: true}, doctorProblem, "kalypso-agent-token"},
		{"of a hub", query.Cluster{Registered: true, ReportedBy: "hub"}, doctorProblem, "register hub again"},
		{"offline", query.Cluster{Registered: true, LastHeard: heard, Offline: true}, doctorProblem, "offline since 2026-01-02T03:04:05Z"},
		{"fails", query.Cluster{Registered: true, LastHeard: heard, Memberships: member(query.Membership{State: comply.Broken, Reason: "no space left"})}, doctorProblem, "dev/large: no space left"},
		{"follows nothing", query.Cluster{Registered: true, LastHeard: heard, Memberships: member(query.Membership{State: comply.Missing})}, doctorProblem, "no reconciler follows its folder"},
		{"nothing is published", query.Cluster{Registered: true, LastHeard: heard, Memberships: member(query.Membership{State: comply.Missing, Unpublished: true})}, doctorOK, ""},
		{"another type", query.Cluster{Registered: true, LastHeard: heard, Memberships: member(query.Membership{Finding: "its Cluster object says small"})}, doctorWarning, "says small"},
	} {
		state, message, next := diagnoseCluster(test.cluster)
		if state != test.state || !strings.Contains(message+" "+next, test.want) || (state == doctorOK) != (next == "") {
			t.Errorf("%s: got %s, %q, %q", test.name, state, message, next)
		}
	}
}
