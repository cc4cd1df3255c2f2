package direct

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
)

// machine is an API server in memory. It knows what these tests need: objects are got, applied and deleted, without merging.
type machine struct {
	*httptest.Server
	mu      sync.Mutex
	objects map[string]map[string]any // by path
	// accounts are who applied each object last.
	accounts map[string]string
	// before is called before each change, and its error is the answer.
	before func(method, path string) error
	// denied are the names of objects that only the agent itself may read.
	denied map[string]bool
	// rights is the path of the object without which no account may do anything; empty if they need none.
	rights string
	// got is called after each object was read, before it is sent. Kinds of the group slow.example.com are looked up with it, too.
	got     func(path string)
	uid     int
	version int
}

var served0 = map[string]string{
	"/api/v1":                            `[{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"namespaces","kind":"Namespace"},{"name":"namespaces/status","kind":"Namespace"}]`,
	"/apis/apps/v1":                      `[{"name":"deployments","kind":"Deployment","namespaced":true}]`,
	"/apis/rbac.authorization.k8s.io/v1": `[{"name":"roles","kind":"Role","namespaced":true},{"name":"rolebindings","kind":"RoleBinding","namespaced":true}]`,
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{objects: map[string]map[string]any{}, accounts: map[string]string{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if kinds, ok := served0[r.URL.Path]; ok {
		fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","resources":%s}`, kinds)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/apis/slow.example.com/") {
		m.got(r.URL.Path)
	}
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer(w, r, body)
}

func (m *machine) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	refuse := func(code int, reason, message string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
	}
	impersonated := r.Header.Get("Impersonate-User") != ""
	if name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; impersonated && (m.denied[name] || m.rights != "" && m.objects[m.rights] == nil) {
		refuse(http.StatusForbidden, "Forbidden", "cannot get "+name)
		return
	}
	if r.Method != http.MethodGet && m.before != nil {
		if err := m.before(r.Method, r.URL.Path); err != nil {
			refuse(http.StatusUnprocessableEntity, "Invalid", err.Error())
			return
		}
	}
	o, known := m.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPatch:
		var next map[string]any
		if err := json.Unmarshal(body, &next); err != nil || r.Header.Get("Content-Type") != "application/apply-patch+yaml" {
			refuse(http.StatusBadRequest, "BadRequest", fmt.Sprint("not an apply: ", err))
			return
		}
		meta := next["metadata"].(map[string]any)
		if known {
			now := o["metadata"].(map[string]any)
			if meta["resourceVersion"] != nil && meta["resourceVersion"] != now["resourceVersion"] {
				refuse(http.StatusConflict, "Conflict", "the object has been modified")
				return
			}
			meta["uid"], next["status"] = now["uid"], o["status"]
		} else {
			if meta["uid"] != nil {
				refuse(http.StatusConflict, "Conflict", "uid mismatch: no existing object was found")
				return
			}
			m.uid++
			meta["uid"] = fmt.Sprint(m.uid)
		}
		o = next
		m.objects[r.URL.Path], m.accounts[r.URL.Path] = o, r.Header.Get("Impersonate-User")
		m.changed(o)
	case !known:
		m.read(r)
		refuse(http.StatusNotFound, "NotFound", r.URL.Path+" not found")
		return
	case r.Method == http.MethodDelete:
		delete(m.objects, r.URL.Path)
	}
	text, _ := json.Marshal(o)
	m.read(r)
	_, _ = w.Write(text)
}

// read tells that an object was read, or that it does not exist.
func (m *machine) read(r *http.Request) {
	if r.Method == http.MethodGet && m.got != nil {
		m.mu.Unlock()
		defer m.mu.Lock()
		m.got(r.URL.Path)
	}
}

// changed gives an object a new version.
func (m *machine) changed(o map[string]any) {
	m.version++
	o["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(m.version)
}

// recreate removes an object, and creates one of another owner with its name.
func (m *machine) recreate(path string) {
	m.mu.Lock()
	delete(m.objects, path)
	m.mu.Unlock()
	m.edit(path, func(o map[string]any) { o["data"] = "by hand" })
}

// has returns the paths of all objects.
func (m *machine) has() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

// edit changes an object by hand.
func (m *machine) edit(path string, change func(o map[string]any)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects[path] == nil {
		m.objects[path] = map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": path[strings.LastIndex(path, "/")+1:], "uid": "by hand"},
		}
	}
	change(m.objects[path])
	m.changed(m.objects[path])
}

// world is a server with deliveries, a cluster, and an agent.
type world struct {
	t       testing.TB
	machine *machine
	key     ed25519.PrivateKey
	store   *Store
	now     time.Time

	number     int64
	deliveries []hub.Delivery
	archives   map[string][]byte
	// cut is after how many bytes a download ends; 0 is never.
	cut  int
	sent int // bytes of archives
	away bool
}

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, machine: newMachine(t), key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte("k"), 32)), archives: map[string][]byte{},
		now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	}
	w.store = &Store{Dir: t.TempDir(), Cluster: "edge-1", Key: w.key.Public().(ed25519.PublicKey)}
	return w
}

const (
	platform = "kalypso-agent/platform-dev"
	shop     = "dev-shop/dev-shop"
)

// set makes a version of a delivery what the cluster should run.
func (w *world) set(id, commit string, spec hub.DirectDeliverySpec, documents ...string) {
	w.t.Helper()
	w.pack(id, commit, spec, []artifact.File{{Path: "all.yaml", Content: []byte(strings.Join(documents, "\n---\n"))}})
}

// pack makes a version of a delivery with these files what the cluster should run.
func (w *world) pack(id, commit string, spec hub.DirectDeliverySpec, files []artifact.File) {
	w.t.Helper()
	namespace, name, _ := strings.Cut(id, "/")
	d := hub.Delivery{Namespace: namespace, Name: name, Commit: strings.Repeat(commit, 40), Spec: spec}
	d.Spec.Source.Repository = "https://git.example.com/" + name
	if id != platform {
		d.Of, d.Spec.ServiceAccount = "platform-dev", "reconciler"
	}
	archive, digest, err := artifact.Pack(files)
	if err != nil {
		w.t.Fatal(err)
	}
	d.Digest, d.Size = digest, int64(len(archive))
	w.archives[digest] = archive
	w.drop(id)
	w.deliveries = append(w.deliveries, d)
}

func (w *world) drop(id string) {
	w.deliveries = slices.DeleteFunc(w.deliveries, func(o hub.Delivery) bool { return o.ID() == id })
}

func (w *world) Deliveries(context.Context, string, time.Duration) ([]byte, string, error) {
	if w.away {
		return nil, "", errors.New("the server is away")
	}
	w.number++
	return w.seal(w.key, "edge-1", w.number), "tag", nil
}

func (w *world) seal(key ed25519.PrivateKey, cluster string, number int64) []byte {
	w.t.Helper()
	payload, err := json.Marshal(hub.Deliveries{APIVersion: hub.GroupVersion.String(), Kind: hub.KindDeliveries, Cluster: cluster, Number: number, Deliveries: w.deliveries})
	if err != nil {
		w.t.Fatal(err)
	}
	sealed, err := hub.Seal(hub.DeliveriesPayloadType, payload, key)
	if err != nil {
		w.t.Fatal(err)
	}
	return sealed
}

func (w *world) Archive(_ context.Context, digest string, offset, limit int64, to io.Writer) (bool, error) {
	rest := w.archives[digest][offset:]
	rest = rest[:min(int64(len(rest)), limit)]
	if w.cut > 0 && len(rest) > w.cut {
		n, _ := to.Write(rest[:w.cut])
		w.sent += n
		return false, errors.New("connection lost")
	}
	n, err := to.Write(rest)
	w.sent += n
	return false, err
}

// start returns an agent that begins with what is on disk.
func (w *world) start() (*Deliverer, *Follower) {
	w.t.Helper()
	cluster, err := Connect(&rest.Config{Host: w.machine.URL})
	if err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	d := &Deliverer{Store: w.store, Cluster: cluster, Log: log, Now: func() time.Time { return w.now }, Status: reconciler.Status}
	if err := d.Open(); err != nil {
		w.t.Fatal(err)
	}
	return d, &Follower{Server: w, Store: w.store, Log: log, Changed: func() {}}
}

// settle advances an agent a few times, with the clock.
func (w *world) settle(d *Deliverer, f *Follower) {
	w.t.Helper()
	if f != nil {
		if err := f.once(w.t.Context(), 0); err != nil {
			w.t.Log(err)
		}
	}
	for range 4 {
		if _, err := d.Advance(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		w.now = w.now.Add(10 * time.Second)
	}
}

// wantReport wants the report of a delivery to be in a state, with a message that contains a text.
func (w *world) wantReport(d *Deliverer, id string, state hub.State, revision, applied, message string) {
	w.t.Helper()
	for _, r := range d.reports {
		if r.Namespace+"/"+r.Name != id {
			continue
		}
		r.Observed = w.now
		if err := r.Check(); err != nil {
			w.t.Errorf("%s: %v", id, err)
		}
		if r.State != state || !strings.HasPrefix(r.Revision, revision) || (r.Applied == "") != (applied == "") || !strings.HasPrefix(r.Applied, applied) || !strings.Contains(r.Message, message) {
			w.t.Errorf("%s: got %s, revision %.3s, applied %.3s, %q; want %s, %s, %s, %q", id, r.State, r.Revision, r.Applied, r.Message, state, revision, applied, message)
		}
		return
	}
	w.t.Errorf("%s has no report, of %+v", id, d.reports)
}

func (w *world) wantObjects(names ...string) {
	w.t.Helper()
	var got []string
	for _, path := range w.machine.has() {
		got = append(got, path[strings.LastIndex(path, "/")+1:])
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		w.t.Errorf("the cluster has %q, want %q", got, names)
	}
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {value: " + value + "}\n"
}

const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: dev-shop}\n"

func inNamespace() hub.DirectDeliverySpec { return hub.DirectDeliverySpec{TargetNamespace: "dev-shop"} }
