package e2e

import (
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// BenchmarkMap opens the map of 10,000 clusters that run 200 workloads each, and zooms in it. It reports, in milliseconds, when the
// drawing is complete, from the request on, and the frames of two seconds of zooming.
//
//	go test -run '^$' -bench Map -benchtime 3x . -args -pages
func BenchmarkMap(b *testing.B) {
	s := showMany(b, "map", 100)
	tab := s.open(b, newBrowser(b), views[0])
	total := map[string]float64{}
	add := func(t times) {
		total["server-ms"] += t.Server
		total["drawn-ms"] += t.Drawn
		total["frames/s"] += t.Frames
		total["slowest-frame-ms"] += t.Slowest
	}
	must(b, tab.Visit(s.url+"/map?environment=prod")) // the server reads its ledger once
	for b.Loop() {
		must(b, tab.Visit(s.url+"/map?environment=prod"))
		t, err := harness.Eval[times](tab, drawAndZoom)
		must(b, err)
		add(t)
	}
	for unit, sum := range total {
		b.ReportMetric(sum/float64(b.N), unit)
	}
	must(b, tab.Shoot(filepath.Join(pictures(), "map-10000.png")))
}

// times are what drawAndZoom returns, in milliseconds.
type times struct{ Server, Drawn, Frames, Slowest float64 }

// drawAndZoom waits until the page is drawn, and turns the wheel over the map for two seconds: in, and out again.
const drawAndZoom = `(async () => {
	const frame = () => new Promise(requestAnimationFrame);
	await frame();
	await frame();
	const page = performance.getEntriesByType("navigation")[0];
	const drawn = performance.now();
	const map = document.getElementById("map"), bounds = map.getBoundingClientRect();
	if (!map.querySelector("svg path.cells")) throw new Error("the map has no cells");
	const turn = (deltaY) => map.dispatchEvent(new WheelEvent("wheel", {
		deltaY, ctrlKey: true, bubbles: true, cancelable: true, clientX: bounds.left + 300, clientY: bounds.top + 200,
	}));
	await frame();
	const began = performance.now();
	let last = began, frames = 0, slowest = 0;
	while (last - began < 2000) {
		turn(last - began < 1000 ? -4 : 4);
		const now = await frame();
		slowest = Math.max(slowest, now - last);
		last = now;
		frames++;
	}
	return {server: page.responseStart - page.requestStart, drawn, frames: frames * 1000 / (last - began), slowest};
})()`
