package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// office registers clusters in a ledger.
type office struct {
	*testing.T
	ledger *sqlite.Ledger
	*ingest.Registrar
}

func newOffice(t *testing.T) office {
	t.Helper()
	l, n := openLedger(t), 0
	return office{t, l, &ingest.Registrar{Ledger: l, NewSecret: func(role string) secret.Value {
		n++
		return secret.New(fmt.Sprintf("%s-secret-%d", role, n))
	}}}
}

func members(texts ...string) []ledger.Membership {
	var all []ledger.Membership
	for _, text := range texts {
		environment, clusterType, _ := strings.Cut(text, "/")
		all = append(all, ledger.Membership{Environment: environment, ClusterType: clusterType})
	}
	return all
}

func request(name string, memberships ...string) ingest.ClusterRequest {
	return ingest.ClusterRequest{Name: name, Memberships: members(memberships...)}
}

// is wants a credential to be that of a cluster, or of none.
func (o office) is(credential secret.Value, cluster string) {
	o.Helper()
	c, err := o.ledger.ClusterByCredential(o.Context(), ingest.Hash(credential))
	if cluster == "" && !errors.Is(err, ledger.ErrNotFound) || cluster != "" && (err != nil || c.Name != cluster) {
		o.Errorf("got cluster %q, %v, want %q", c.Name, err, cluster)
	}
}

func must[T any](t *testing.T) func(v T, r ledger.Registration, err error) T {
	return func(v T, _ ledger.Registration, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestRemovedMemberships(t *testing.T) {
	o := newOffice(t)
	ask := func(q ingest.ClusterRequest) []ledger.Membership {
		removed, err := o.Removed(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return removed
	}
	q := request("large-07", "dev/large", "stage/large", "prod/large")
	if got := ask(q); got != nil {
		t.Errorf("new: %v", got)
	}
	if _, _, err := o.Register(t.Context(), q, "ann", noon); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(members("prod/large", "stage/large"), ask(request("large-07", "dev/large", "dev/small"))); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if got := ask(q); len(got) > 0 {
		t.Errorf("the same: %v", got)
	}
	if _, err := o.Revoke(t.Context(), "large-07", "ann", noon); err != nil {
		t.Fatal(err)
	}
	if got := ask(request("large-07", "dev/large")); got != nil {
		t.Errorf("revoked: %v", got)
	}
}

func TestRegister(t *testing.T) {
	o := newOffice(t)
	q := request("large-07", "stage/large", "dev/large")
	q.Labels = map[string]string{"region": "west"}
	_, q.PublicKey = key(t, "k")
	credential, made, err := o.Register(t.Context(), q, "ann\nlevel=error", noon)
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.Registration{
		Cluster: "large-07", Memberships: members("dev/large", "stage/large"), Labels: q.Labels, PublicKey: q.PublicKey,
		CredentialHash: ingest.Hash(credential), At: noon, By: "ann level=error",
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	o.is(credential, "large-07")

	// Registered again at the same instant it changes, and keeps its credential and its key.
	again, made, err := o.Register(t.Context(), request("large-07", "dev/small"), "ann", noon)
	if err != nil || !again.IsZero() || made.PublicKey != q.PublicKey {
		t.Errorf("got a credential %v, key %q, %v", !again.IsZero(), made.PublicKey, err)
	}
	o.is(credential, "large-07")
	all, err := o.ledger.Clusters(t.Context(), ledger.ClusterQuery{Environment: "dev", ClusterType: "small"})
	if err != nil || len(all) != 1 {
		t.Errorf("got %d members, %v, want 1", len(all), err)
	}

	rotated := must[secret.Value](t)(o.Rotate(t.Context(), "large-07", "ann", noon))
	o.is(credential, "")
	o.is(rotated, "large-07")
	for range 2 {
		if made, err := o.Revoke(t.Context(), "large-07", "ann", after(time.Minute)); err != nil || !made.Revoked {
			t.Errorf("got revoked=%v, %v", made.Revoked, err)
		}
	}
	o.is(rotated, "")
	_, _, err = o.Rotate(t.Context(), "large-07", "ann", after(time.Hour))
	refused(t, err, ingest.ErrNotFound, `cluster "large-07" is not registered`)
	_, err = o.Revoke(t.Context(), "unknown", "ann", noon)
	refused(t, err, ingest.ErrNotFound, `cluster "unknown" is not registered`)
	back := must[secret.Value](t)(o.Register(t.Context(), request("large-07", "dev/large"), "ann", noon))
	o.is(back, "large-07")
}

func TestRegisterRefuses(t *testing.T) {
	o := newOffice(t)
	_, public := key(t, "k")
	first := request("small-01", "dev/small")
	first.PublicKey = public
	must[secret.Value](t)(o.Register(t.Context(), first, "ann", noon))
	for name, tc := range map[string]struct {
		change func(q *ingest.ClusterRequest)
		kind   error
		text   string
	}{
		"name":           {func(q *ingest.ClusterRequest) { q.Name = "Large 07" }, ingest.ErrInvalid, `cluster "Large 07"`},
		"path":           {func(q *ingest.ClusterRequest) { q.Name = "../x" }, ingest.ErrInvalid, `cluster "../x"`},
		"environment":    {func(q *ingest.ClusterRequest) { q.Memberships = members("a.b/large") }, ingest.ErrInvalid, `environment "a.b"`},
		"no type":        {func(q *ingest.ClusterRequest) { q.Memberships = members("dev") }, ingest.ErrInvalid, `cluster type ""`},
		"no memberships": {func(q *ingest.ClusterRequest) { q.Memberships = nil }, ingest.ErrInvalid, "0 memberships"},
		"twice":          {func(q *ingest.ClusterRequest) { q.Memberships = members("dev/large", "dev/large") }, ingest.ErrInvalid, "dev/large is there twice"},
		"label":          {func(q *ingest.ClusterRequest) { q.Labels = map[string]string{"a b": "c"} }, ingest.ErrInvalid, `label "a b"`},
		"public key":     {func(q *ingest.ClusterRequest) { q.PublicKey = "x" }, ingest.ErrInvalid, "public key"},
		"another's key":  {func(q *ingest.ClusterRequest) { q.PublicKey = public }, ingest.ErrConflict, `cluster "small-01"`},
	} {
		t.Run(name, func(t *testing.T) {
			q := request("large-07", "dev/large")
			tc.change(&q)
			_, _, err := o.Register(t.Context(), q, "ann", noon)
			refused(t, err, tc.kind, tc.text)
		})
	}
}

// What two memberships bring to a cluster must not have one name.
func TestCollision(t *testing.T) {
	o := newOffice(t)
	_, _, err := o.Register(t.Context(), request("large-07", "dev/east-large", "dev-east/large"), "ann", noon)
	refused(t, err, ingest.ErrConflict, `dev/east-large and dev-east/large would both have "dev-east-large"`)

	q := request("large-07", "dev/edge", "dev-edge/a")
	must[secret.Value](t)(o.Register(t.Context(), q, "ann", noon))
	for environment, a := range map[string]ledger.Assignment{"dev": {ClusterType: "edge", Target: "a-shop"}, "dev-edge": {ClusterType: "a", Target: "shop"}} {
		if err := o.ledger.RecordCommit(t.Context(), ledger.Commit{
			Repository: "https://git.example.com/platform", Branch: environment, SHA: sha(1), Kind: ledger.BranchPlatform, Environment: environment,
			Committed: noon, Recorded: noon, Assignments: []ledger.Assignment{a},
		}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = o.Register(t.Context(), q, "ann", noon)
	refused(t, err, ingest.ErrConflict, `dev/edge and dev-edge/a would both have "dev-edge-a-shop"`)
}

// invite makes a join token and returns its id.
func (o office) invite(scope ingest.JoinScope) (id string) {
	o.Helper()
	token, stored, err := o.CreateJoinToken(o.Context(), ingest.JoinTokenRequest{Scope: scope, Expires: after(time.Hour)}, "ann", noon)
	if err != nil {
		o.Fatal(err)
	}
	found, err := o.ledger.TokenByHash(o.Context(), ingest.Hash(token))
	if err != nil || found.ID != stored.ID || found.Role != "join" || strings.Contains(fmt.Sprint(found), token.Reveal()) {
		o.Errorf("got token %q of role %q, %v", found.ID, found.Role, err)
	}
	return stored.ID
}

func TestJoin(t *testing.T) {
	o := newOffice(t)
	id := o.invite(ingest.JoinScope{Memberships: members("dev/*", "stage/large"), Uses: 2})
	credential := must[secret.Value](t)(o.Join(t.Context(), id, request("large-07", "dev/small", "stage/large"), noon))
	o.is(credential, "large-07")

	_, _, err := o.Join(t.Context(), id, request("large-07", "dev/small"), noon)
	refused(t, err, ingest.ErrConflict, `cluster "large-07" is already registered`)
	o.is(credential, "large-07")
	_, _, err = o.Join(t.Context(), id, request("large-08", "stage/small"), noon)
	refused(t, err, ingest.ErrDenied, "does not allow membership stage/small")

	if _, err := o.Revoke(t.Context(), "large-07", "ann", noon); err != nil {
		t.Fatal(err)
	}
	back := must[secret.Value](t)(o.Join(t.Context(), id, request("large-07", "dev/small"), noon))
	o.is(back, "large-07")
	o.is(credential, "")
	_, _, err = o.Join(t.Context(), id, request("large-09", "dev/small"), noon)
	refused(t, err, ingest.ErrDenied, "no uses left")
}

func TestJoinRefuses(t *testing.T) {
	o := newOffice(t)
	id := o.invite(ingest.JoinScope{Memberships: members("*/*")})
	_, _, err := o.Join(t.Context(), "another", request("a", "dev/x"), noon)
	refused(t, err, ingest.ErrDenied, "not a join token")
	_, _, err = o.Join(t.Context(), id, request("a", "dev/x"), after(time.Hour))
	refused(t, err, ingest.ErrDenied, "expired at 2026-11-20T13:00:00Z")
	token := ledger.Token{ID: id, Hash: "h", Role: "join", Revoked: noon, Scope: "nonsense"}
	put := func() {
		if err := o.ledger.PutToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	put()
	_, _, err = o.Join(t.Context(), id, request("a", "dev/x"), noon)
	refused(t, err, ingest.ErrDenied, "was revoked")
	token.Revoked = time.Time{}
	put()
	_, _, err = o.Join(t.Context(), id, request("a", "dev/x"), noon)
	refused(t, err, ingest.ErrDenied, "does not allow")
	token.Role, token.Scope = "admin", ingest.JoinScope{Memberships: members("*/*")}.String()
	put()
	_, _, err = o.Join(t.Context(), id, request("a", "dev/x"), noon)
	refused(t, err, ingest.ErrDenied, "not a join token")

	for name, r := range map[string]ingest.JoinTokenRequest{
		"no scope":       {Expires: after(time.Hour)},
		"never expires":  {Scope: ingest.JoinScope{Memberships: members("*/*")}},
		"expired":        {Scope: ingest.JoinScope{Memberships: members("*/*")}, Expires: noon},
		"negative uses":  {Scope: ingest.JoinScope{Memberships: members("*/*"), Uses: -1}, Expires: after(time.Hour)},
		"invalid member": {Scope: ingest.JoinScope{Memberships: members("dev/**")}, Expires: after(time.Hour)},
	} {
		_, _, err := o.CreateJoinToken(t.Context(), r, "ann", noon)
		if !errors.Is(err, ingest.ErrInvalid) {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
}

// racing lets another cluster register under the same name at the last moment.
type racing struct {
	ingest.Registry
	overtake func()
}

func (r *racing) Register(ctx context.Context, reg ledger.Registration) error {
	if r.overtake != nil {
		overtake := r.overtake
		r.overtake = nil
		overtake()
	}
	return r.Registry.Register(ctx, reg)
}

// Of two that join under one name at once, the first one has it.
func TestJoinRace(t *testing.T) {
	for _, earlier := range []time.Duration{time.Microsecond, 0} {
		o := newOffice(t)
		id := o.invite(ingest.JoinScope{Memberships: members("*/*")})
		var winner secret.Value
		slow := &ingest.Registrar{NewSecret: func(string) secret.Value { return secret.New("of the second") }}
		slow.Ledger = &racing{o.ledger, func() {
			winner = must[secret.Value](t)(o.Join(t.Context(), id, request("large-07", "dev/large"), noon.Add(-earlier)))
		}}
		_, _, err := slow.Join(t.Context(), id, request("large-07", "dev/large"), noon)
		refused(t, err, ingest.ErrConflict, "is already registered")
		o.is(winner, "large-07")
		o.is(secret.New("of the second"), "")
	}
}

// TestRegisteringAgainForgetsTheState: revoking a cluster and registering it again clears what it reported.
func TestRegisteringAgainForgetsTheState(t *testing.T) {
	o := newOffice(t)
	states := func() int {
		page, err := o.ledger.States(o.Context(), ledger.StateQuery{Cluster: "large-07"})
		if err != nil {
			o.Fatal(err)
		}
		return len(page.States)
	}
	register := must[secret.Value](t)
	register(o.Register(o.Context(), request("large-07", "dev/large"), "ann", after(0)))
	w := &world{T: t, ledger: o.ledger, intake: &ingest.Intake{Ledger: o.ledger}}
	w.take(batch(after(0), report("platform", 1, hub.StateReady, after(0))), after(0))
	register(o.Register(o.Context(), request("large-07", "dev/large", "stage/large"), "ann", after(time.Minute)))
	if states() != 1 {
		t.Error("another membership cleared the state")
	}
	if _, err := o.Revoke(o.Context(), "large-07", "ann", after(2*time.Minute)); err != nil || states() != 1 {
		t.Errorf("revoked: %d states, %v; what it reported stays until the name is used again", states(), err)
	}
	register(o.Register(o.Context(), request("large-07", "dev/large"), "ann", after(3*time.Minute)))
	if states() != 0 {
		t.Error("the state of the revoked cluster counts for the new one")
	}
	if receipt := w.take(batch(after(4*time.Minute)), after(4*time.Minute)); !receipt.Resend {
		t.Error("the agent is not asked to report everything again")
	}
}

func TestMisspelledMembershipsAreRefused(t *testing.T) {
	o := newOffice(t)
	o.Serves = func() map[string][]string { return map[string][]string{"dev": {"large", "small"}, "stage": nil} }
	for _, test := range []struct{ membership, err string }{
		{"dev/large", ""},
		{"stage/anything", ""}, // its cluster types are not known yet
		{"prdo/large", `environment "prdo" does not exist; there are dev, stage`},
		{"dev/lagre", `environment "dev" has no cluster type "lagre"; there are large, small`},
	} {
		_, _, err := o.Register(t.Context(), request("c-"+strings.ReplaceAll(test.membership, "/", "-"), test.membership), "ann", noon)
		if test.err == "" && err != nil || test.err != "" && (!errors.Is(err, ingest.ErrInvalid) || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v", test.membership, err)
		}
	}
	o.Serves = func() map[string][]string { return nil } // nothing was read yet
	if _, _, err := o.Register(t.Context(), request("early", "prdo/large"), "ann", noon); err != nil {
		t.Error(err)
	}
}

func TestRegistrationsAgreeWithClusterObjects(t *testing.T) {
	o := newOffice(t)
	o.ClusterObject = func(environment, cluster string) (string, bool) {
		return "large", environment == "dev" && cluster == "west-001"
	}
	for _, test := range []struct {
		name        string
		memberships []string
		err         string
	}{
		{"west-002", []string{"dev/small"}, ""}, // it has no Cluster object
		{"west-001", []string{"dev/small"}, `the Cluster object of "west-001" in environment "dev" says cluster type "large", not "small"`},
		{"west-001", []string{"dev/large"}, ""},
		{"west-001", []string{"dev/large", "dev/small", "stage/small"}, ""}, // it serves as more
	} {
		_, _, err := o.Register(t.Context(), request(test.name, test.memberships...), "ann", noon)
		if test.err == "" && err != nil || test.err != "" && (!errors.Is(err, ingest.ErrInvalid) || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s as %s: %v", test.name, test.memberships, err)
		}
	}
}
