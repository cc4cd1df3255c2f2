package tenant

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

const api = "apiVersion: scheduler.kalypso.io/v1alpha1\n"

// promotionWorld is a control plane with the environments dev and prod on a forge, a ControlPlane object for it, and a database.
type promotionWorld struct {
	*fleettest.Fleet
	reconciler *operator.Reconciler
	client     client.Client
	events     *events.FakeRecorder
	tenants    *Tenants
	// ledger is the database, as clusters and users see it, and database its TCP address.
	ledger   *postgres.Ledger
	database string
	// hangs makes the database accept connections without an answer. Connections that there are end.
	hangs atomic.Bool
	conns sync.Map // net.Conn to the database: nothing
	// woken counts the rounds that were requested.
	woken atomic.Int32
}

func newPromotionWorld(t *testing.T, rules string) *promotionWorld {
	t.Helper()
	f, host := fleettest.NewLocal(t)
	w := &promotionWorld{Fleet: f, events: events.NewFakeRecorder(1000)}
	w.Create("control-plane")
	w.Create("gitops")
	w.Push(fleettest.ControlPlane, "main", map[string]string{"README.md": "the fleet\n"})
	first, main := w.Head(fleettest.ControlPlane, "main"), map[string]string{"notes.md": "one\n"}
	for name, promotion := range map[string]string{"dev": "{}", "prod": rules} {
		main[".environments/"+name+".yaml"] = api + "kind: Environment\nmetadata: {name: " + name + "}\nspec:\n  controlPlane: {repo: ., branch: " + name + "}\n  promotion: " + promotion + "\n"
		w.Push(fleettest.ControlPlane, name, map[string]string{
			"base-repo.yaml":    api + "kind: BaseRepo\nmetadata:\n  name: main\nspec:\n  repo: .\n  branch: main\n  commit: " + first + "\n",
			"gitops-repo.yaml":  api + "kind: GitOpsRepo\nmetadata: {name: " + name + "}\nspec: {repo: ../gitops, branch: " + name + ", autoMerge: true}\n",
			"cluster-type.yaml": api + "kind: ClusterType\nmetadata: {name: large}\nspec: {reconciler: flux, namespaceService: default}\n",
		})
	}
	w.Push(fleettest.ControlPlane, "main", main)
	server := postgrestest.Start(t)
	direct := server.Create(t, "shop")
	w.proxy(t, direct)
	var err error
	if w.ledger, err = postgres.Open(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ledger.Close() })
	for _, name := range []string{"dev", "prod"} {
		err := w.ledger.Register(t.Context(), ledger.Registration{Cluster: name + "-1", Memberships: []ledger.Membership{{Environment: name, ClusterType: "large"}}, At: fleettest.Time})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.operate(t, host)
	return w
}

// proxy makes the database reachable by TCP, on which the server of tests does not listen.
func (w *promotionWorld) proxy(t *testing.T, direct string) {
	t.Helper()
	at, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(at.Query().Get("host"), ".s.PGSQL."+at.Query().Get("port"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.database = listener.Addr().String()
	ended, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var wait sync.WaitGroup
	t.Cleanup(func() { stop(); _ = listener.Close(); wait.Wait() })
	forward := func(from net.Conn) {
		defer from.Close() //nolint:errcheck // the test ends
		context.AfterFunc(ended, func() { _ = from.Close() })
		if w.hangs.Load() {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		to, err := net.Dial("unix", socket)
		if err != nil {
			return
		}
		context.AfterFunc(ended, func() { _ = to.Close() })
		w.conns.Store(to, nil)
		defer w.conns.Delete(to)
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		_, _ = io.Copy(from, to)
	}
	wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { forward(conn) })
		}
	})
}

// opened is the tenants of a test: they read and write the repositories of the forge in place.
type opened struct {
	*Tenants
	*promotionWorld
	host forge.Forge
}

func (o *opened) Open(a operator.Access) (operator.Tenant, error) {
	open, err := o.Tenants.Open(a)
	if err != nil {
		return nil, err
	}
	if t := open.(*Tenant); t.client.Allow != nil {
		t.client.Allow, t.client.Map = nil, []git.Mapping{{From: o.URL, To: o.Dir}}
		t.forges = forge.Forges{o.host}
		t.commits.Pushed = func(context.Context, string) error { return o.Notify() }
	}
	return open, nil
}

func (o *opened) Forget(name types.NamespacedName) { o.Tenants.Forget(name) }

// operate starts an operator with a ControlPlane and its Secrets.
func (w *promotionWorld) operate(t *testing.T, host forge.Forge) {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	plane := &v1alpha1.ControlPlane{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "shop", UID: "uid"},
		Spec: v1alpha1.ControlPlaneSpec{
			Source: v1alpha1.ControlPlaneSource{Repository: w.URL + "/" + fleettest.ControlPlane},
			Forge:  v1alpha1.ControlPlaneForge{Kind: "gitea", URL: w.URL, SecretRef: v1alpha1.SecretReference{Name: "bot"}},
			Ledger: &v1alpha1.ControlPlaneLedger{SecretRef: v1alpha1.SecretReference{Name: "ledger"}},
		},
	}
	secrets := []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bot", Namespace: "shop"}, Data: map[string][]byte{"token": []byte("the-token")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ledger", Namespace: "shop"}, Data: map[string][]byte{"url": []byte(w.ledgerURL())}},
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(secrets, plane)...).WithStatusSubresource(plane).Build()
	w.tenants = New(Options{Folder: t.TempDir(), Allowed: Allowed{w.URL, "postgres://" + w.database}, Settle: new(time.Duration)})
	t.Cleanup(func() { w.tenants.Forget(w.name()) })
	w.reconciler = &operator.Reconciler{
		Client: w.client, Reader: w.client, Tenants: &opened{w.tenants, w, host}, Events: w.events, Wake: func(types.NamespacedName) { w.woken.Add(1) },
	}
}

func (w *promotionWorld) name() types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: "shop"}
}

func (w *promotionWorld) ledgerURL() string {
	return "postgres://kalypso:pass-word@" + w.database + "/postgres?sslmode=disable&search_path=shop"
}

// setLedger sets the data of the Secret with the URL of the ledger.
func (w *promotionWorld) setLedger(data map[string]string) {
	w.Helper()
	s := &corev1.Secret{}
	if err := w.client.Get(w.Context(), types.NamespacedName{Namespace: "shop", Name: "ledger"}, s); err != nil {
		w.Fatal(err)
	}
	s.Data = map[string][]byte{}
	for field, value := range data {
		s.Data[field] = []byte(value)
	}
	if err := w.client.Update(w.Context(), s); err != nil {
		w.Fatal(err)
	}
}

// reconcile runs the rounds of the ControlPlane, and returns it.
func (w *promotionWorld) reconcile() (*v1alpha1.ControlPlane, ctrl.Result) {
	w.Helper()
	result, err := w.reconciler.Reconcile(w.Context(), ctrl.Request{NamespacedName: w.name()})
	if err != nil {
		w.Fatal(err)
	}
	p := &v1alpha1.ControlPlane{}
	if err := w.client.Get(w.Context(), w.name(), p); err != nil {
		w.Fatal(err)
	}
	return p, result
}

// report makes the cluster of an environment apply its branch and report.
func (w *promotionWorld) report(environment, failure string) {
	w.Helper()
	revision := w.Head(fleettest.GitOps, environment)
	if revision == "" {
		return
	}
	r := ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: environment + "-1", Kind: "Kustomization", Namespace: "flux-system", Name: "platform"},
		Outcome: ledger.Outcome{
			Source:   ledger.Source{Repository: ledger.CleanRepository(w.URL + "/" + fleettest.GitOps), Ref: environment, Path: "large"},
			Revision: revision, State: ledger.StateReady,
		},
		Observed: time.Now(), Received: time.Now(),
	}
	if failure != "" {
		r.State, r.Message = ledger.StateFailed, failure
	}
	if err := w.ledger.Report(w.Context(), r); err != nil {
		w.Fatal(err)
	}
}

// until reconciles until a control plane is as wanted.
func (w *promotionWorld) until(what string, step func(), ok func(*v1alpha1.ControlPlane) bool) *v1alpha1.ControlPlane {
	w.Helper()
	var p *v1alpha1.ControlPlane
	for range 30 {
		step()
		if p, _ = w.reconcile(); ok(p) {
			return p
		}
	}
	w.Fatalf("%s: the status is %+v", what, p.Status)
	return nil
}

// promotionOf returns the promotion of an environment; an empty one if it has none.
func promotionOf(p *v1alpha1.ControlPlane, environment string) v1alpha1.EnvironmentPromotion {
	for _, e := range p.Status.Environments {
		if e.Name == environment && e.Promotion != nil {
			return *e.Promotion
		}
	}
	return v1alpha1.EnvironmentPromotion{}
}

func ready(p *v1alpha1.ControlPlane) metav1.Condition {
	if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// seen returns the events with a reason.
func (w *promotionWorld) seen(reason string) (found []string) {
	for {
		select {
		case e := <-w.events.Events:
			if strings.Contains(e, " "+reason+" ") {
				found = append(found, e)
			}
		default:
			return found
		}
	}
}

// A ControlPlane with a ledger promotes the commits of main: to dev at once, to prod after the cluster of dev runs them, and not what fails there.
// The rules are those of "kalypso serve"; the status says what waits for what.
func TestPromotion(t *testing.T) {
	w := newPromotionWorld(t, "{after: [dev]}")
	one := w.Head(fleettest.ControlPlane, "main")
	p := w.until("dev waits for its cluster", func() {}, func(p *v1alpha1.ControlPlane) bool { return promotionOf(p, "dev").Phase == "applying" })
	if dev := promotionOf(p, "dev"); dev.Next != one || !strings.Contains(dev.Reason, "cluster") {
		t.Errorf("dev is %+v", dev)
	}
	p = w.until("dev has the commit", func() { w.report("dev", "") }, func(p *v1alpha1.ControlPlane) bool { return promotionOf(p, "dev").Commit == one })
	if c := ready(p); c.Status != metav1.ConditionTrue {
		t.Errorf("the condition is %+v", c)
	}
	if prod := promotionOf(p, "prod"); prod.Commit == one {
		t.Errorf("prod is %+v before dev runs the commit", prod)
	}
	p = w.until("prod has the commit", func() { w.report("dev", ""); w.report("prod", "") }, func(p *v1alpha1.ControlPlane) bool {
		return promotionOf(p, "prod").Commit == one && promotionOf(p, "prod").Phase == "good"
	})
	if want := "promotion: 2 good"; !strings.Contains(p.Status.Summary, want) {
		t.Errorf("the summary is %q, want %q in it", p.Status.Summary, want)
	}
	if got := w.seen("Promoted"); len(got) == 0 || !strings.Contains(got[len(got)-1], "prod: "+one) {
		t.Errorf("the events are %q", got)
	}
	statuses, err := w.Repo(fleettest.ControlPlane).Statuses(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]forge.StatusState{}
	for _, s := range statuses {
		shown[s.Context] = s.State
	}
	if shown["dev"] != forge.Success || shown["prod"] != forge.Success {
		t.Errorf("the statuses of the commit are %+v", statuses)
	}
	steps, err := w.ledger.Steps(t.Context(), ledger.StepQuery{Environment: "prod", Kind: "deployed", Commit: one})
	if err != nil || len(steps) != 1 {
		t.Errorf("the ledger has the steps %+v, %v", steps, err)
	}
	// A commit that fails in dev stays there.
	two := w.Push(fleettest.ControlPlane, "main", map[string]string{"notes.md": "two\n"})
	w.until("dev has the second commit", func() {}, func(p *v1alpha1.ControlPlane) bool { return promotionOf(p, "dev").Commit == two })
	p = w.until("it fails", func() { w.report("dev", "no such image") }, func(p *v1alpha1.ControlPlane) bool { return promotionOf(p, "dev").Phase == "failed" })
	if prod := promotionOf(p, "prod"); prod.Commit != one {
		t.Errorf("prod has the commit that failed: %+v", prod)
	}
	if got := w.seen("Failed"); len(got) != 1 || !strings.HasPrefix(got[0], "Warning Failed dev: "+two) {
		t.Errorf("the events are %q", got)
	}
	if c := ready(p); c.Status != metav1.ConditionTrue {
		t.Errorf("a commit that failed makes the control plane fail: %+v", c)
	}
	// Nothing is left to do, and without the ledger, nothing is promoted.
	before, result := w.reconcile()
	if result.RequeueAfter < 30*time.Second {
		t.Errorf("with nothing to do, the next round is after %s", result.RequeueAfter)
	}
	before.Spec.Ledger = nil
	if err := w.client.Update(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if p, _ = w.reconcile(); promotionOf(p, "dev").Phase != "" || strings.Contains(p.Status.Summary, "promotion") {
		t.Errorf("without a ledger, the status is %+v", p.Status)
	}
}

// answering returns the address of a server that sends a text on each connection.
func answering(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); wait.Wait() })
	wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(text))
			wait.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		}
	})
	return listener.Addr().String()
}

// A ledger that cannot be used is named in the condition, without its password. The environments are scheduled all the same.
func TestLedgersOfHostileTenants(t *testing.T) {
	w := newPromotionWorld(t, "{after: [dev]}")
	// Long enough for the database that answers, on a busy machine.
	w.tenants.Answer = 3 * time.Second
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections in the kernel, and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	large := answering(t, "R\x3f\xff\xff\xff")
	w.tenants.Allowed = append(w.tenants.Allowed, "postgres://"+silent.Addr().String(), "postgres://"+large, "postgres://127.0.0.1:1")
	for _, tc := range []struct {
		name, reason, want string
		data               map[string]string
	}{
		{"a Secret without the field", "SecretUnusable", `Secret "ledger" has no field url`, map[string]string{"token": "a"}},
		{"another server", "NotAllowed", "spec.ledger: the operator does not allow this address: postgres://10.0.0.1", map[string]string{"url": "postgres://kalypso:pass-word@10.0.0.1/postgres"}},
		{"a file", "NotAllowed", "a ledger is a PostgreSQL database", map[string]string{"url": "/var/lib/kalypso/ledger.db"}},
		{"a socket", "NotAllowed", "the URL does not name one host", map[string]string{"url": "postgres://kalypso:pass-word@/postgres?host=/var/run/postgresql"}},
		{"a database that does not answer", "LedgerUnusable", "the database did not answer within 3s", map[string]string{"url": "postgres://kalypso:pass-word@" + silent.Addr().String() + "/postgres"}},
		{"a server that announces a gigabyte", "LedgerUnusable", "the ledger cannot be used", map[string]string{"url": "postgres://kalypso:pass-word@" + large + "/postgres?sslmode=disable"}},
		{"a port without a server", "LedgerUnusable", "the ledger cannot be used", map[string]string{"url": "postgres://kalypso:pass-word@127.0.0.1:1/postgres"}},
		{"a database that does not exist", "LedgerUnusable", "the ledger cannot be used", map[string]string{"url": "postgres://kalypso:pass-word@" + w.database + "/none?sslmode=disable"}},
		{"a file of the container", "NotAllowed", `the setting "sslkey"`, map[string]string{"url": w.ledgerURL() + "&sslkey=/etc/passwd"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w.setLedger(tc.data)
			w.Push(fleettest.ControlPlane, "dev", map[string]string{"notes.md": tc.name + "\n"})
			p, result := w.reconcile()
			if c := ready(p); c.Status != metav1.ConditionFalse || c.Reason != tc.reason || !strings.Contains(c.Message, tc.want) {
				t.Errorf("the condition is %+v, want %s and %q", c, tc.reason, tc.want)
			}
			if stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil || result.RequeueAfter == 0 {
				t.Errorf("nothing is scheduled any more: %+v, the next round after %s", stalled, result.RequeueAfter)
			}
			head := w.Head(fleettest.ControlPlane, "dev")
			if e := p.Status.Environments[0]; e.Error != "" || !strings.HasPrefix(e.Inputs, "dev@"+head[:7]) {
				t.Errorf("dev was not scheduled: %+v", e)
			}
			if strings.Contains(fmt.Sprint(p.Status), "pass-word") {
				t.Errorf("the status has the password: %+v", p.Status)
			}
		})
	}
	// A database that goes away keeps what was promoted in the status.
	w.setLedger(map[string]string{"url": w.ledgerURL()})
	p := w.until("dev is promoted", func() {}, func(p *v1alpha1.ControlPlane) bool {
		return promotionOf(p, "dev").Commit != "" && ready(p).Status == metav1.ConditionTrue
	})
	was := promotionOf(p, "dev")
	w.hangs.Store(true)
	w.conns.Range(func(conn, _ any) bool { return conn.(net.Conn).Close() == nil })
	p, _ = w.reconcile()
	if c := ready(p); c.Reason != "LedgerUnusable" {
		t.Errorf("after the database hangs, the condition is %+v", c)
	}
	if diff := cmp.Diff(was, promotionOf(p, "dev")); diff != "" {
		t.Errorf("the promotion changed (-want +got):\n%s", diff)
	}
	w.hangs.Store(false)
	w.until("it goes on", func() {}, func(p *v1alpha1.ControlPlane) bool { return ready(p).Status == metav1.ConditionTrue })
}

// A verification may send requests to public addresses, and to private ones only if the operator allows them. Its end requests a round.
func TestVerificationsOfTenants(t *testing.T) {
	var asked atomic.Int32
	smoke := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(smoke.Close)
	w := newPromotionWorld(t, "{after: [dev], verify: [{name: smoke, http: {url: '"+smoke.URL+"'}}]}")
	report := func() { w.report("dev", ""); w.report("prod", "") }
	p := w.until("the verification is refused", report, func(p *v1alpha1.ControlPlane) bool { return promotionOf(p, "prod").Phase == "failed" })
	if reason := promotionOf(p, "prod").Reason; !strings.Contains(reason, "this machine's own") || asked.Load() > 0 {
		t.Errorf("prod: %s, after %d requests", reason, asked.Load())
	}
	if w.woken.Load() == 0 {
		t.Error("the end of a verification requested no round")
	}
	// Another operator allows it.
	w.tenants.Forget(w.name())
	w.tenants.VerifyHosts, w.tenants.checks = []string{"127.0.0.1"}, nil
	w.Push(fleettest.ControlPlane, "main", map[string]string{"notes.md": "three\n"})
	w.until("the verification passes", report, func(p *v1alpha1.ControlPlane) bool {
		return promotionOf(p, "prod").Phase == "good" && asked.Load() > 0
	})
}
