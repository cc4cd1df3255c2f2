package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// The ways in which people look.
var views = []harness.View{
	{Name: "light", Width: 1280, Height: 900},
	{Name: "dark", Width: 1280, Height: 900, Dark: true},
	{Name: "phone", Width: 390, Height: 844, Phone: true},
}

// samplePages are those of the tutorial's fleet. The last parts of those with a commit are found on the way.
var samplePages = []string{
	"/", "/map", "/map?environment=dev", "/environments/dev", "/environments/stage", "/environments/dev/targets/hello-world-app-performance-test", "/workloads", "/workloads/hello-world-app", "/clusters", "/clusters?state=behind",
	"/promotions", "/plan", "/plan?environment=stage", "/plan?branch=dev", "/compare", "/compare?a=dev&b=stage", "/environments/dev/explain?target=hello-world-app/performance-test", "/environments/dev/explain?target=hello-world-app/performance-test&clusterType=large",
	"/workloads/hello-world-app/values?environment=dev", "/workloads/hello-world-app/values?environment=dev&target=performance-test", "/environments/dev/values", "/environments/dev/values?configMap=west-us-config",
	"/environments/dev/explain?target=hello-world-app/performance-test&clusterType=small", "/history", "/history?environment=dev", "/figures", "/search", "/search?q=hello",
	"/-/sign-in", "/-/sign-out", "/-/repositories",
}

// largePages are those of the large fleet. The matrix is measured apart from them, since axe looks at each of its cells.
var largePages = []string{
	"/", "/map?environment=prod", "/map?environment=prod&clusterType=type-007", "/map?environment=prod&cluster=type-007-07", "/environments/prod?find=workload-00", "/workloads", "/workloads/workload-007", "/clusters", "/clusters?environment=prod&state=failed",
	"/clusters/type-007-03", "/promotions", "/plan", "/history?environment=prod", "/figures", "/search?q=type-00", "/compare?a=prod&b=prod",
}

// TestPages: everybody can read every page, on a phone and in the dark, and the browser has nothing to complain of.
func TestPages(t *testing.T) {
	axe, err := harness.Axe(t.Context())
	must(t, err)
	b := newBrowser(t)
	for _, fleet := range []struct {
		name  string
		show  func(*testing.T) *shown
		pages []string
	}{
		{"sample", showSample, samplePages},
		{"large", showLarge, largePages},
	} {
		t.Run(fleet.name, func(t *testing.T) {
			s := fleet.show(t)
			for _, v := range views {
				t.Run(v.Name, func(t *testing.T) {
					tab := s.open(t, b, v)
					tab.Complaints()
					for _, page := range s.more(t, fleet.pages) {
						t.Run(nameOf(page), func(t *testing.T) { look(t, tab, s, page, axe, filepath.Join(pictures(), fleet.name, v.Name)) })
					}
				})
			}
		})
	}
}

// more adds the pages of the newest promotion and of one cluster.
func (s *shown) more(t *testing.T, pages []string) []string {
	t.Helper()
	var clusters struct{ Items []struct{ Name string } }
	must(t, json.Unmarshal([]byte(s.ask(t, "/clusters", "application/json")), &clusters))
	if len(clusters.Items) > 0 {
		pages = append(pages[:len(pages):len(pages)], "/clusters/"+clusters.Items[0].Name)
	}
	var promotions struct{ Items []struct{ Commit string } }
	must(t, json.Unmarshal([]byte(s.ask(t, "/promotions", "application/json")), &promotions))
	if len(promotions.Items) > 0 {
		pages = append(pages, "/promotions/"+promotions.Items[0].Commit)
	}
	return pages
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

func nameOf(page string) string {
	if name := strings.Trim(notInNames.ReplaceAllString(page, "-"), "-"); name != "" {
		return name[:min(len(name), 40)]
	}
	return "fleet"
}

func look(t *testing.T, tab *harness.Tab, s *shown, page, axe, folder string) {
	must(t, tab.Visit(s.url+page))
	must(t, tab.Shoot(filepath.Join(folder, nameOf(page)+".png")))
	wide, err := harness.Eval[string](tab, `(() => {
		const root = document.scrollingElement, most = root.clientWidth;
		if (root.scrollWidth <= most) return "";
		const over = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > most + 1);
		return root.scrollWidth + " > " + most + ": " + over.slice(0, 5).map((e) => e.outerHTML.slice(0, 120)).join("\n");
	})()`)
	must(t, err)
	if wide != "" {
		t.Errorf("it scrolls sideways: %s", wide)
	}
	violations, err := tab.Check(axe)
	must(t, err)
	for _, v := range violations {
		t.Error(v)
	}
	for _, complaint := range tab.Complaints() {
		t.Errorf("the browser complains: %s", complaint)
	}
}

// TestPagesAreJSON: every page is data at the same address, and the pages of people have a command that says the same.
func TestPagesAreJSON(t *testing.T) {
	s := showSample(t)
	for _, page := range s.more(t, samplePages) {
		if strings.HasPrefix(page, "/-/") {
			continue
		}
		var value any
		if text := s.ask(t, page, "application/json"); json.Unmarshal([]byte(text), &value) != nil {
			t.Errorf("%s is no JSON: %.200s", page, text)
		}
		if text := s.ask(t, page, "text/html"); !strings.HasPrefix(text, "<!doctype html>") {
			t.Errorf("%s is no page: %.200s", page, text)
		}
	}
}

// TestMatrix: the matrix of 20,000 cells is there soon. The times are printed; how soon depends on the machine.
func TestMatrix(t *testing.T) {
	s := showLarge(t)
	tab := s.open(t, newBrowser(t), views[0])
	const page = "/environments/prod"
	for range 3 {
		must(t, tab.Visit(s.url+page))
		timing, err := harness.Eval[struct {
			Cells                      int
			Server, Parsed, Drawn, All float64
			Bytes                      int
		}](tab, `new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
			const n = performance.getEntriesByType("navigation")[0];
			const paint = performance.getEntriesByName("first-contentful-paint")[0];
			done({cells: document.querySelectorAll(".matrix tbody td").length, server: n.responseStart - n.requestStart,
				parsed: n.domInteractive - n.responseStart, drawn: paint ? paint.startTime : 0, all: n.loadEventEnd, bytes: n.encodedBodySize});
		})))`)
		must(t, err)
		if timing.Cells != manyTypes*manyWorkloads {
			t.Fatalf("it has %d cells, want %d", timing.Cells, manyTypes*manyWorkloads)
		}
		t.Logf("%d cells, %d bytes: server %.0f ms, parsed %.0f ms after its first byte, first paint at %.0f ms, loaded at %.0f ms",
			timing.Cells, timing.Bytes, timing.Server, timing.Parsed, timing.Drawn, timing.All)
	}
	must(t, tab.Shoot(filepath.Join(pictures(), "large", "matrix.png")))
	filtered, err := harness.Eval[float64](tab, `(() => {
		const input = document.querySelector("input[data-filters]"), began = performance.now();
		input.value = "workload-01";
		input.dispatchEvent(new Event("input", {bubbles: true}));
		document.body.offsetHeight;
		return performance.now() - began;
	})()`)
	must(t, err)
	rows, err := harness.Eval[int](tab, `document.querySelectorAll(".matrix tbody tr:not([hidden])").length`)
	must(t, err)
	if rows != 10 {
		t.Errorf("the filter leaves %d rows, want 10", rows)
	}
	t.Logf("a filter is applied within %s", fmt.Sprintf("%.0f ms", filtered))
}
