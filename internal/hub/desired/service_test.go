package desired

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// world has a fleet of one cluster, and repositories in memory.
type world struct {
	*Service
	// heads are the commits of repositories and references, files the content by repository, commit and folder.
	heads map[string]string
	files map[string][]artifact.File
	asked atomic.Int32
	time  time.Time
	// slow is a repository that is read when the channel is closed, listed how many folders were listed.
	slow   string
	wait   chan struct{}
	listed int
}

const gitOps, manifests = "https://git.example.com/gitops", "https://git.example.com/manifests"

func newWorld() *world {
	w := &world{time: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), heads: map[string]string{
		gitOps + "@dev": strings.Repeat("a", 40), manifests + "@main": strings.Repeat("b", 40),
	}, files: map[string][]artifact.File{
		gitOps + " large":   {{Path: "shop/namespace.yaml", Content: []byte("kind: Namespace\n")}, {Path: "shop/reconciler.yaml", Content: []byte(document("dev-shop", "", "shop"))}},
		manifests + " shop": {{Path: "web.yaml", Content: []byte("kind: Deployment\n")}},
	}}
	w.Service = &Service{
		Clusters: members{}, Numbers: &numbers{}, Repositories: w, Key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte("k"), 32)), Now: func() time.Time { return w.time },
		Follows: func(_ string, m ledger.Membership) (Following, error) {
			if m.Environment == "unread" {
				return Following{}, errors.New("not read yet")
			}
			return Following{Source: hub.Source{Repository: gitOps, Ref: m.Environment, Path: m.ClusterType}, Direct: m.ClusterType != "flux"}, nil
		},
	}
	return w
}

func document(name, more, path string) string {
	return "apiVersion: hub.kalypso.io/v1alpha1\nkind: DirectDelivery\nmetadata: {name: " + name + ", namespace: dev-shop}\nspec:\n  source: {repository: " + manifests +
		", branch: main, path: " + path + "}\n  serviceAccount: reconciler\n" + more
}

func (w *world) Resolve(_ context.Context, _ string, source hub.DirectSource) (Commit, error) {
	w.asked.Add(1)
	if source.Repository == w.slow {
		<-w.wait
	}
	hash, ok := w.heads[source.Repository+"@"+source.Branch]
	if !ok {
		return Commit{}, fmt.Errorf("no branch %q in https://ann:hunter2@git.example.com", source.Branch)
	}
	return Commit{Hash: hash, Files: func(_ context.Context, folder string) ([]artifact.File, error) {
		w.listed++
		return w.files[source.Repository+" "+folder], nil
	}}, nil
}

// numbers are those of a ledger in memory.
type numbers struct{ last atomic.Int64 }

func (n *numbers) NextNumber(_ context.Context, _ string, least int64) (int64, error) {
	for {
		last := n.last.Load()
		if next := max(last+1, least); n.last.CompareAndSwap(last, next) {
			return next, nil
		}
	}
}

type members []ledger.Membership

func (m members) Clusters(_ context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	if q.Name != "edge-1" {
		return nil, nil
	}
	return []ledger.Cluster{{Name: q.Name, Registered: true, Registration: ledger.Registration{Memberships: m}}}, nil
}

func (w *world) of(t *testing.T) string {
	t.Helper()
	w.Renew()
	all, _, err := w.Of(t.Context(), "edge-1")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s of %q at %.3s, archive %t, %s\n", d.ID(), d.Of, d.Commit, d.Digest != "", d.Error)
	}
	return b.String()
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatAClusterShouldRun(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}, {Environment: "prod", ClusterType: "flux"}, {Environment: "unread", ClusterType: "large"}, {Environment: "gone", ClusterType: "large"}}
	want(t, w.of(t), `
kalypso-agent/platform-dev of "" at aaa, archive true, 
kalypso-agent/platform-unread of "" at , archive false, not read yet
kalypso-agent/platform-gone of "" at , archive false, no branch "gone" in https://git.example.com
dev-shop/dev-shop of "platform-dev" at bbb, archive true, 
`)
	// A folder that cannot be applied is an error of its own.
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}
	w.heads[manifests+"@main"] = strings.Repeat("c", 40)
	w.files[manifests+" shop"] = []artifact.File{{Path: "kustomization.yaml", Content: []byte("resources: [web.yaml]\nimages: []\n")}}
	want(t, w.of(t), `
kalypso-agent/platform-dev of "" at aaa, archive true, 
dev-shop/dev-shop of "platform-dev" at bbb, archive true, 
`) // as it was a moment ago
	w.time = w.time.Add(time.Minute)
	want(t, w.of(t), `
kalypso-agent/platform-dev of "" at aaa, archive true, 
dev-shop/dev-shop of "platform-dev" at ccc, archive false, kustomization.yaml has "images", and kustomizations are not built for a cluster without a reconciler: only resources can be listed; commit the result of the build
`)
	// A kustomization that lists nothing is what an uninstalled target has. A folder without files may be a mistake.
	for _, test := range []struct {
		commit string
		files  []artifact.File
		want   string
	}{
		{"d", []artifact.File{{Path: "kustomization.yaml", Content: []byte("resources: []\n")}, {Path: "web.yaml", Content: []byte("kind: Deployment\n")}}, "at ddd, archive true, "},
		{"e", nil, `at eee, archive false, the folder "shop" has no YAML files at eeeeeee: check the path and the branch of the target`},
	} {
		w.heads[manifests+"@main"], w.files[manifests+" shop"], w.time = strings.Repeat(test.commit, 40), test.files, w.time.Add(time.Minute)
		want(t, w.of(t), "kalypso-agent/platform-dev of \"\" at aaa, archive true, \ndev-shop/dev-shop of \"platform-dev\" "+test.want)
	}
	if all, _, err := w.Of(t.Context(), "another"); err != nil || len(all) != 0 {
		t.Errorf("an unknown cluster gets %v, %v", all, err)
	}
}

func TestWindowsAreThoseOfThePlatformsFolder(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}
	follows, windows := w.Follows, []scheduler.Window{{Cron: "0 2 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	_, before, err := w.Of(t.Context(), "edge-1")
	if err != nil {
		t.Fatal(err)
	}
	w.Service.Follows = func(cluster string, m ledger.Membership) (Following, error) {
		f, err := follows(cluster, m)
		f.Windows, f.Hold = windows, &scheduler.Hold{Reason: "inventory"}
		return f, err
	}
	all, after, err := w.Of(t.Context(), "edge-1")
	if err != nil || after == before || len(all) != 2 || !reflect.DeepEqual(all[0].Windows, windows) || all[0].Hold == nil || all[1].Windows != nil || all[1].Hold != nil {
		t.Errorf("got %+v, %v; the tag was %s and is %s", all, err, before, after)
	}
	for i := range all {
		if err := all[i].Check(); err != nil {
			t.Error(err)
		}
	}
	all[1].Hold = all[0].Hold
	if all[1].Check() == nil {
		t.Error("a document has a hold of its own, which nothing would keep")
	}
}

func TestDocumentsThatAreWrongStopTheirFolder(t *testing.T) {
	t.Parallel()
	for problem, text := range map[string]string{
		"serviceAccount":           strings.Replace(document("a", "", "shop"), "serviceAccount: reconciler", "", 1),
		"leads out":                document("a", "", "../../etc"),
		`unknown field`:            document("a", "  applyAs: admin\n", "shop"),
		"namespace and a name":     document("A_b", "", "shop"),
		"it is declared twice":     document("a", "", "shop") + "---\n" + document("a", "", "shop"),
		"of \"hub.kalypso.io/v9\"": strings.Replace(document("a", "", "shop"), "v1alpha1", "v9", 1),
	} {
		w := newWorld()
		w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}
		w.files[gitOps+" large"] = []artifact.File{{Path: "a.yaml", Content: []byte(text)}}
		if got := w.of(t); !strings.Contains(got, problem) || strings.Count(got, "archive true") > 1 {
			t.Errorf("got\n%s\nwant %q", got, problem)
		}
	}
}

func TestArchivesAreOnlyForClustersThatShouldRunThem(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}
	all, tag, err := w.Of(t.Context(), "edge-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		archive, err := w.Archive(t.Context(), "edge-1", d.Digest)
		if err != nil || artifact.Digest(archive) != d.Digest || int64(len(archive)) != d.Size {
			t.Errorf("%s: %v", d.ID(), err)
		}
		if _, err := w.Archive(t.Context(), "another", d.Digest); !errors.Is(err, ErrUnknownDigest) {
			t.Errorf("another cluster: %v", err)
		}
	}
	if asked := w.asked.Load(); asked != 2 {
		t.Errorf("the repositories were asked %d times, want 2", asked)
	}
	// The same after a restart, which has no caches.
	if again, same, err := newWorldOf(w).Of(t.Context(), "edge-1"); err != nil || same != tag || len(again) != 2 {
		t.Errorf("got tag %s, %v, want %s", same, err, tag)
	}
}

func newWorldOf(w *world) *Service {
	next := newWorld()
	next.Service.Clusters = w.Service.Clusters
	return next.Service
}

// opened returns the content of an answer.
func (w *world) opened(t *testing.T) hub.Deliveries {
	t.Helper()
	sealed, tag, err := w.Answer(t.Context(), "edge-1")
	if err != nil {
		t.Fatal(err)
	}
	public, _ := w.Key.Public().(ed25519.PublicKey)
	payload, _, err := hub.Unseal(sealed, hub.DeliveriesPayloadType, public)
	var d hub.Deliveries
	if err := errors.Join(err, json.Unmarshal(payload, &d)); err != nil || d.Check("edge-1") != nil || tag == "" {
		t.Fatalf("got %+v, %v", d, err)
	}
	return d
}

// Two servers with caches of different age, and clocks that differ: a larger number never comes with an older commit.
func TestAnswersOfSeveralServersAreInOrder(t *testing.T) {
	t.Parallel()
	one, two := newWorld(), newWorld()
	two.Service.Numbers = one.Service.Numbers
	two.heads = one.heads
	one.time = one.time.Add(time.Hour) // its clock is ahead
	one.Service.Clusters, two.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}, members{{Environment: "dev", ClusterType: "large"}}
	_, _ = one.of(t), two.of(t)
	var last hub.Deliveries
	for i, digit := range []string{"c", "d", "e", "f"} {
		one.heads[manifests+"@main"] = strings.Repeat(digit, 40)
		for _, w := range []*world{one, two}[:1+i%2] { // the other one may still have an older commit in its cache
			d := w.opened(t)
			if d.Number <= last.Number || d.Deliveries[1].Commit != one.heads[manifests+"@main"] {
				t.Errorf("got number %d with %.3s after %d, want %.3s", d.Number, d.Deliveries[1].Commit, last.Number, digit)
			}
			last = d
		}
	}
}

func TestSelected(t *testing.T) {
	t.Parallel()
	file := func(path, text string) artifact.File { return artifact.File{Path: path, Content: []byte(text)} }
	for _, test := range []struct {
		name, want string
		files      []artifact.File
	}{
		{"all", "a.yaml b/c.yaml", []artifact.File{file("b/c.yaml", ""), file("a.yaml", "")}},
		{"listed", "a.yaml b/c.yaml", []artifact.File{file("kustomization.yaml", "resources: [a.yaml, b]"), file("a.yaml", ""), file("b/c.yaml", ""), file("left.yaml", "")}},
		{"of a subfolder", "a.yaml b/c.yaml", []artifact.File{file("a.yaml", ""), file("b/kustomization.yaml", "resources: [c.yaml]"), file("b/c.yaml", ""), file("b/d.yaml", "")}},
		{"missing", "does not exist", []artifact.File{file("kustomization.yaml", "resources: [a.yaml]")}},
		{"elsewhere", "is not in the folder", []artifact.File{file("kustomization.yaml", "resources: [https://example.com/a.yaml]")}},
		{"above", "is not in the folder", []artifact.File{file("b/kustomization.yaml", "resources: [../a.yaml]"), file("a.yaml", "")}},
		{"itself", "does not exist", []artifact.File{file("kustomization.yaml", "resources: [.]")}},
	} {
		files, err := selected(test.files)
		var got []string
		for _, f := range files {
			got = append(got, f.Path)
		}
		if text := strings.Join(got, " "); err == nil && text != test.want || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %q, %v, want %q", test.name, text, err, test.want)
		}
	}
}

func TestWhatIsCutOffIsAnErrorOfItsOwnFolder(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}, {Environment: "prod", ClusterType: "large"}}
	var many []string
	for n := range hub.MaxDeliveries - 2 {
		many = append(many, document(fmt.Sprint("shop-", n), "", "shop"))
	}
	w.files[gitOps+" large"] = []artifact.File{{Path: "all.yaml", Content: []byte(strings.Join(many, "---\n"))}}
	w.heads[gitOps+"@prod"] = strings.Repeat("c", 40)
	all, _, err := w.Of(t.Context(), "edge-1")
	if err != nil || len(all) != hub.MaxDeliveries || all[1].Name != "platform-prod" {
		t.Fatalf("got %d deliveries, %v", len(all), err)
	}
	// All documents of prod have the names of those of dev, but one.
	if all[1].Error != "" {
		t.Errorf("nothing of %s was cut off, and it says %q", all[1].Name, all[1].Error)
	}
	w.files[gitOps+" small"] = []artifact.File{{Path: "more.yaml", Content: []byte(document("one-too-many", "", "shop"))}}
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}, {Environment: "prod", ClusterType: "large"}, {Environment: "prod", ClusterType: "small"}}
	if all, _, err = w.Of(t.Context(), "edge-1"); err != nil || len(all) != hub.MaxDeliveries {
		t.Fatalf("got %d deliveries, %v", len(all), err)
	}
	if d := all[2]; d.Name != "platform-prod-small" || !strings.Contains(d.Error, "more than 1000") {
		t.Errorf("what %s declares was cut off, and it says %q", d.Name, d.Error)
	}
}

func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"many of one":      "a: &a " + large + "\nb: [" + strings.Repeat("*a, ", 20) + "]\n",
		"in several steps": "a: &a [" + large + "]\nb: &b [*a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: {<<: {e: *c}}\n",
		"of itself":        "a: &a {b: *a}\n",
	} {
		if err := bounded([]artifact.File{{Path: "all.yaml", Content: []byte(text)}}); err == nil || !strings.Contains(err.Error(), "all.yaml") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	good := "a: &a {b: c}\nd: [*a, *a]\n---\nschedule: '*/5 * * * *'\ncommand: a && b\n"
	if err := bounded([]artifact.File{{Path: "all.yaml", Content: []byte(good)}}); err != nil {
		t.Error(err)
	}
	w := newWorld()
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}
	w.files[manifests+" shop"] = []artifact.File{{Path: "kustomization.yaml", Content: []byte("metadata:\n  a: &a " + large + "\n  b: [" + strings.Repeat("*a, ", 20) + "]\n")}}
	want(t, w.of(t), `
kalypso-agent/platform-dev of "" at aaa, archive true, 
dev-shop/dev-shop of "platform-dev" at bbb, archive false, kustomization.yaml has aliases that make it larger than 16 MiB
`)
}

func TestASlowRepositoryDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}
		const fast = "https://git.example.com/fast"
		w.heads[fast+"@main"] = strings.Repeat("d", 40)
		w.files[fast+" shop"] = w.files[manifests+" shop"]
		w.files[gitOps+" large"] = []artifact.File{{Path: "all.yaml", Content: []byte(document("a-slow", "", "shop") + "---\n" + strings.ReplaceAll(document("fast", "", "shop"), manifests, fast))}}
		w.slow, w.wait = manifests, make(chan struct{})
		for range 2 {
			_ = w.of(t)
			want(t, w.of(t), `
kalypso-agent/platform-dev of "" at aaa, archive true, 
dev-shop/a-slow of "platform-dev" at , archive false, its repository is still being read
dev-shop/fast of "platform-dev" at ddd, archive true, 
`)
		}
		if asked := w.asked.Load(); asked != 3 {
			t.Errorf("the repositories were asked %d times, want each once", asked)
		}
		close(w.wait)
		synctest.Wait()
		want(t, w.of(t), `
kalypso-agent/platform-dev of "" at aaa, archive true, 
dev-shop/a-slow of "platform-dev" at bbb, archive true, 
dev-shop/fast of "platform-dev" at ddd, archive true, 
`)
	})
}

func TestFoldersArePackedOnceWithoutMemory(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.archives = 1
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}
	w.files[gitOps+" large"] = []artifact.File{{Path: "all.yaml", Content: []byte(document("a", "", "shop") + "---\n" + document("b", "", "other"))}}
	w.files[manifests+" other"] = []artifact.File{{Path: "other.yaml", Content: []byte("kind: Service\n")}}
	for range 3 {
		_ = w.of(t)
	}
	if w.listed != 3 {
		t.Errorf("folders were listed %d times, want each once", w.listed)
	}
	all, _, err := w.Of(t.Context(), "edge-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if archive, err := w.Archive(t.Context(), "edge-1", d.Digest); err != nil || artifact.Digest(archive) != d.Digest {
			t.Errorf("%s: %v", d.ID(), err)
		}
	}
}

func TestATargetWithoutManifestsIsNotHealthy(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.Service.Clusters = members{{Environment: "dev", ClusterType: "large"}}
	w.files[gitOps+" large"] = []artifact.File{{Path: "all.yaml", Content: []byte(document("shop", "", "misspelled"))}}
	want(t, w.of(t), `
kalypso-agent/platform-dev of "" at aaa, archive true, 
dev-shop/shop of "platform-dev" at bbb, archive false, the folder "misspelled" has no YAML files at bbbbbbb: check the path and the branch of the target
`)
}
