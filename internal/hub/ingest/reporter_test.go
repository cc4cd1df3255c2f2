package ingest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func spoke(name, reporter string) ingest.ClusterRequest {
	q := request(name, "dev/"+name)
	q.ReportedBy = reporter
	return q
}

// about returns a batch of the sender about a cluster.
func about(cluster string, reports ...hub.Report) *hub.ReportBatch {
	b := batch(noon, reports...)
	b.Cluster = cluster
	return b
}

// A hub reports for the clusters that were granted to it, and for no others: not for those of another hub, and not for those that
// report themselves.
func TestHubReportsForItsSpokes(t *testing.T) {
	o := newOffice(t)
	for _, q := range []ingest.ClusterRequest{
		request("hub", "dev/hub"), request("other", "dev/other"), spoke("spoke", "hub"), spoke("far", "other"), request("alone", "dev/alone"),
	} {
		must[secret.Value](t)(o.Register(t.Context(), q, "ann", noon))
	}
	intake := &ingest.Intake{Ledger: o.ledger}
	for _, cluster := range []string{"", "hub", "spoke"} {
		b := about(cluster, report("platform", 1, hub.StateReady, noon))
		if _, err := intake.Take(t.Context(), "hub", b, noon); err != nil {
			t.Errorf("%q: %v", cluster, err)
		}
	}
	for _, cluster := range []string{"far", "alone", "other", "unknown", "spoke "} {
		_, err := intake.Take(t.Context(), "hub", about(cluster, report("platform", 1, hub.StateReady, noon)), noon)
		refused(t, err, ingest.ErrDenied, `the credential belongs to cluster "hub", which does not report for "`+cluster+`"`)
	}
	page, err := o.ledger.States(t.Context(), ledger.StateQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range page.States {
		got = append(got, s.Reconciler.Cluster)
	}
	if diff := cmp.Diff([]string{"hub", "spoke"}, got); diff != "" {
		t.Errorf("clusters with a state (-want +got):\n%s", diff)
	}
	// What the hub knows about one cluster says nothing about another.
	b := batch(after(time.Second))
	b.Cluster = "spoke"
	b.Present = &hub.Present{}
	if _, err := intake.Take(t.Context(), "hub", b, after(time.Second)); err != nil {
		t.Fatal(err)
	}
	states := func(cluster string) []hub.State {
		page, err := o.ledger.States(t.Context(), ledger.StateQuery{Cluster: cluster})
		if err != nil {
			t.Fatal(err)
		}
		var all []hub.State
		for _, s := range page.States {
			all = append(all, s.State)
		}
		return all
	}
	if diff := cmp.Diff([][]hub.State{{hub.StateReady}, {hub.StateSuspended}}, [][]hub.State{states("hub"), states("spoke")}); diff != "" {
		t.Errorf("states of hub and spoke (-want +got):\n%s", diff)
	}
}

// Only one credential reports about a cluster. A change of the reporter ends the other one, and forgets what that one reported.
func TestOneReporter(t *testing.T) {
	o := newOffice(t)
	intake := &ingest.Intake{Ledger: o.ledger}
	at := noon
	register := func(q ingest.ClusterRequest) secret.Value {
		t.Helper()
		at = at.Add(time.Minute)
		return must[secret.Value](t)(o.Register(t.Context(), q, "ann", at))
	}
	take := func(sender string) error {
		_, err := intake.Take(t.Context(), sender, about("spoke", report("by-"+sender, 1, hub.StateReady, at)), at)
		return err
	}
	expect := func(want ...string) {
		t.Helper()
		page, err := o.ledger.States(t.Context(), ledger.StateQuery{Cluster: "spoke"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range page.States {
			got = append(got, s.Reconciler.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reconcilers (-want +got):\n%s", diff)
		}
	}
	register(request("hub", "dev/hub"))
	own := register(request("spoke", "dev/spoke"))
	o.is(own, "spoke")
	if err := take("spoke"); err != nil {
		t.Fatal(err)
	}
	refused(t, take("hub"), ingest.ErrDenied, "does not report for")

	if c := register(spoke("spoke", "hub")); !c.IsZero() {
		t.Error("a cluster that is reported by another one got a credential")
	}
	o.is(own, "") // which is how its own reports are refused
	expect()
	if err := take("hub"); err != nil {
		t.Fatal(err)
	}
	expect("by-hub")
	register(spoke("spoke", "hub")) // changes nothing
	expect("by-hub")
	_, _, err := o.Rotate(t.Context(), "spoke", "ann", at)
	refused(t, err, ingest.ErrConflict, `reported by "hub"`)

	again := register(request("spoke", "dev/spoke"))
	o.is(again, "spoke")
	o.is(own, "")
	expect()
	refused(t, take("hub"), ingest.ErrDenied, "does not report for")
}

// With the hub's credential its right to report for others ends: another cluster that gets the name does not have it.
func TestRevokedHubReportsForNobody(t *testing.T) {
	o := newOffice(t)
	must[secret.Value](t)(o.Register(t.Context(), request("hub", "dev/hub"), "ann", noon))
	for _, name := range []string{"spoke-1", "spoke-2"} {
		must[secret.Value](t)(o.Register(t.Context(), spoke(name, "hub"), "ann", noon))
	}
	if _, err := o.Revoke(t.Context(), "hub", "ann", after(time.Minute)); err != nil {
		t.Fatal(err)
	}
	token := o.invite(ingest.JoinScope{Memberships: members("*/*")})
	if _, _, err := o.Join(t.Context(), token, request("hub", "dev/hub"), after(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err := (&ingest.Intake{Ledger: o.ledger}).Take(t.Context(), "hub", about("spoke-1"), after(3*time.Minute))
	refused(t, err, ingest.ErrDenied, `does not report for "spoke-1"`)
	all, err := o.ledger.Clusters(t.Context(), ledger.ClusterQuery{Name: "spoke-2"})
	if err != nil || len(all) != 1 || !all[0].Registered || all[0].Registration.CredentialHash != "" {
		t.Errorf("got %+v, %v, want a registered cluster without a credential", all, err)
	}
}

func TestReporterRefuses(t *testing.T) {
	o := newOffice(t)
	must[secret.Value](t)(o.Register(t.Context(), request("hub", "dev/hub"), "ann", noon))
	must[secret.Value](t)(o.Register(t.Context(), spoke("spoke", "hub"), "ann", noon))
	_, public := key(t, "k")
	signed := spoke("new", "hub")
	signed.PublicKey = public
	for _, tc := range []struct {
		q    ingest.ClusterRequest
		kind error
		text string
	}{
		{spoke("new", "new"), ingest.ErrInvalid, "needs no reportedBy"},
		{spoke("new", "unknown"), ingest.ErrInvalid, `cluster "unknown", which is to report for "new", is not registered`},
		{spoke("new", "Hub/../x"), ingest.ErrInvalid, `reported by "Hub/../x"`},
		{spoke("new", "spoke"), ingest.ErrInvalid, `it is itself reported by "hub"`},
		{spoke("hub", "spoke"), ingest.ErrInvalid, `it is itself reported by "hub"`},
		{signed, ingest.ErrInvalid, "no public key of its own"},
	} {
		_, _, err := o.Register(t.Context(), tc.q, "ann", noon)
		refused(t, err, tc.kind, tc.text)
	}
	must[secret.Value](t)(o.Register(t.Context(), request("second", "dev/second"), "ann", noon))
	_, _, err := o.Register(t.Context(), spoke("hub", "second"), "ann", noon)
	refused(t, err, ingest.ErrConflict, `cluster "hub" reports for "spoke"`)
	_, _, err = o.Join(t.Context(), o.invite(ingest.JoinScope{Memberships: members("*/*")}), spoke("new", "hub"), noon)
	refused(t, err, ingest.ErrDenied, "a join token cannot let another cluster report")
}

// A notification of Argo CD is about the cluster of Argo CD, and about no other to which it applies something.
func TestNotificationsOfSpokesAreRefused(t *testing.T) {
	w := newWorld(t)
	notify := func(destination string) error {
		return w.intake.TakeArgo(t.Context(), "large-07", &ingest.ArgoNotification{
			APIVersion: hub.GroupVersion.String(), Kind: ingest.KindArgoNotification, Name: "shop", Destination: destination, Sync: "Synced", Health: "Healthy",
		}, noon)
	}
	for _, own := range []string{"", "in-cluster", "https://kubernetes.default.svc", "https://kubernetes.default.svc/"} {
		if err := notify(own); err != nil {
			t.Errorf("%q: %v", own, err)
		}
	}
	for _, other := range []string{"store", "https://10.1.2.3:6443", "IN-CLUSTER", "a\nb"} {
		refused(t, notify(other), ingest.ErrDenied, "the application applies to another cluster")
	}
}
