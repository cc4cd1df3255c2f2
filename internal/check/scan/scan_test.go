package scan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
)

var digest = "sha256:" + strings.Repeat("ab", 32)

func TestParseImage(t *testing.T) {
	for reference, want := range map[string]string{
		"nginx":                                   "docker.io/library/nginx:latest",
		"nginx:1.25":                              "docker.io/library/nginx:1.25",
		"docker.io/nginx":                         "docker.io/library/nginx:latest",
		"acme/shop:1.4.0":                         "docker.io/acme/shop:1.4.0",
		"registry.example/shop:1.4.0":             "registry.example/shop:1.4.0",
		"registry.example:5000/team/shop":         "registry.example:5000/team/shop:latest",
		"localhost/shop":                          "localhost/shop:latest",
		"[::1]:5000/shop:1":                       "[::1]:5000/shop:1",
		"registry.example/shop@" + digest:         "registry.example/shop@" + digest,
		"registry.example/shop:1.4.0@" + digest:   "registry.example/shop@" + digest,
		"registry.example/a/b/c__d-e.f:v1_2.3-rc": "registry.example/a/b/c__d-e.f:v1_2.3-rc",
	} {
		image, err := chart.ParseImage(reference)
		if err != nil || image.String() != want {
			t.Errorf("%s is %s, %v; want %s", reference, image, err, want)
		}
	}
}

// TestInvalidImages checks that references that a program could take for an
// option, or for anything but an image, are rejected.
func TestInvalidImages(t *testing.T) {
	for _, reference := range []string{
		"", "-rf", "--config=/etc/passwd", "Shop", "registry.example/", "/shop", "shop:", "shop:-tag", "shop:a b", "shop@sha256:12",
		"shop@md5:00", "https://registry.example/shop", "registry.example/shop/../../etc", "-registry.example/shop", "registry.example/-shop",
		"shop\n--option", "registry.example:port/shop", "user:password@registry.example/shop", strings.Repeat("a/", 600) + "a", "{reference}",
		strings.Repeat("w", 1000), // too long with its registry
	} {
		if image, err := chart.ParseImage(reference); err == nil {
			t.Errorf("%q is %s", reference, image)
		}
	}
}

func FuzzParseImage(f *testing.F) {
	for _, seed := range []string{"nginx", "registry.example:5000/shop:1.4.0@" + digest, "--x", "a/b:c", "[::1]/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reference string) {
		image, err := chart.ParseImage(reference)
		if err != nil {
			return
		}
		if again, err := chart.ParseImage(image.String()); err != nil || again != image {
			t.Errorf("%q is %s, and that is %s (%v)", reference, image, again, err)
		}
		if strings.HasPrefix(image.String(), "-") || strings.ContainsAny(image.String(), " \t\r\n\x00") {
			t.Errorf("%q is %q", reference, image)
		}
	})
}

func TestChartOfOddName(t *testing.T) {
	for name, want := range map[string]string{"shop": "shop:0.1.0", "--all": digest, "a\nb": digest, "": digest} {
		if got := scan.Chart(name, "0.1.0", digest, nil).Reference; got != want {
			t.Errorf("the chart %q is %q, want %q", name, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	s := check.Scan{Args: []string{"{path}", "image={reference}", "{digest}", "in={path}"}, Timeout: 5 * time.Hour}
	c := scan.CommandOf(s, "r/{path}", digest, nil)
	want := []string{"{path}", "image=r//f", digest, "in=/f"}
	if diff := cmp.Diff(c.In("/f"), want); diff != "" || c.Timeout != time.Hour {
		t.Errorf("timeout %s, arguments (-got +want):\n%s", c.Timeout, diff)
	}
	if s.Timeout = 0; scan.CommandOf(s, "r", digest, nil).Timeout != 10*time.Minute {
		t.Error("another default timeout")
	}
}

// TestKey checks that the key depends on what is run, but not on the scan's name or level.
func TestKey(t *testing.T) {
	s := check.Scan{Name: "a", What: check.Images, Args: []string{"a", "b"}, Level: check.Warn}
	renamed := s
	renamed.Name, renamed.Level, renamed.Timeout, renamed.ExitCodes = "b", check.Refuse, time.Minute, []int{1}
	if scan.Key(s, digest) != scan.Key(renamed, digest) {
		t.Error("the name of a scan counts")
	}
	keys := map[string]string{scan.Key(s, digest): "it"}
	for name, change := range map[string]func(*check.Scan){
		"arguments":           func(s *check.Scan) { s.Args = []string{"a", "c"} },
		"arguments, together": func(s *check.Scan) { s.Args = []string{`a" "b`} },
		"exit codes":          func(s *check.Scan) { s.ExitCodes = []int{2} },
		"subject":             func(s *check.Scan) { s.What = check.Charts },
	} {
		other := s
		change(&other)
		key := scan.Key(other, digest)
		if keys[key] != "" {
			t.Errorf("%s: the same key as %s", name, keys[key])
		}
		keys[key] = name
	}
}

func TestRecord(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	s := check.Scan{ExitCodes: []int{2, 3}}
	for name, tc := range map[string]struct {
		ended  scan.Ended
		err    error
		state  scan.State
		output string
	}{
		"nothing":           {scan.Ended{Code: 0, Output: "fine"}, nil, scan.Passed, ""},
		"something":         {scan.Ended{Code: 3, Output: "CVE"}, nil, scan.Found, "CVE"},
		"another exit code": {scan.Ended{Code: 1, Output: "no database"}, nil, scan.Waiting, "no database"},
		"no end":            {scan.Ended{Output: "begun"}, errors.New("it hung"), scan.Waiting, "begun"},
		"no end, code 0":    {scan.Ended{}, errors.New("it hung"), scan.Waiting, ""},
	} {
		r := scan.Record{}.After(s, tc.ended, tc.err, now)
		if r.State != tc.state || r.Output != tc.output || r.Attempts != 1 || (r.Reason != "") != (tc.state == scan.Waiting) || r.Final() != (tc.state != scan.Waiting) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := scan.Record{}
	for _, want := range []time.Duration{time.Minute, 4 * time.Minute, 16 * time.Minute, time.Hour, time.Hour} {
		if r = r.After(s, scan.Ended{Code: 9}, nil, now); dueIn(r, s, now) != want {
			t.Errorf("after %d runs it is due in %s, want %s", r.Attempts, dueIn(r, s, now), want)
		}
	}
	if r.Attempts = 1 << 40; dueIn(r, s, now) != time.Hour {
		t.Error("not due in an hour")
	}
}

// never means that no run is due.
const never time.Duration = -1

func dueIn(r scan.Record, s check.Scan, now time.Time) time.Duration {
	at, ok := r.Due(s)
	if !ok {
		return never
	}
	return at.Sub(now)
}

// TestRecordsGrowOld checks that records expire if the scan says so. The
// old result applies until another run completes.
func TestRecordsGrowOld(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	daily, once, eager := check.Scan{RescanAfter: 24 * time.Hour}, check.Scan{}, check.Scan{RescanAfter: time.Second}
	r := scan.Record{}.After(daily, scan.Ended{Code: 1, Output: "CVE"}, nil, now)
	if dueIn(r, daily, now) != 24*time.Hour || dueIn(r, once, now) != never || dueIn(r, eager, now) != time.Hour {
		t.Errorf("due in %s, %s and %s", dueIn(r, daily, now), dueIn(r, once, now), dueIn(r, eager, now))
	}
	later := now.Add(25 * time.Hour)
	for _, want := range []time.Duration{time.Minute, 4 * time.Minute, 16 * time.Minute, time.Hour} {
		if r = r.After(daily, scan.Ended{Code: 9, Output: "no database"}, nil, later); dueIn(r, daily, later) != want {
			t.Errorf("tried again in %s, want %s", dueIn(r, daily, later), want)
		}
		if r.State != scan.Found || r.Output != "CVE" || r.Completed() != now || dueIn(r, once, later) != never {
			t.Errorf("after a run without an end: %+v", r)
		}
	}
	if patient := (check.Scan{RescanAfter: 48 * time.Hour}); dueIn(r, patient, later) != 23*time.Hour {
		t.Errorf("one who can wait waits %s", dueIn(r, patient, later))
	}
	if r = r.After(daily, scan.Ended{}, nil, later); r.State != scan.Passed || r.Reason != "" || r.Completed() != later || dueIn(r, daily, later) != 24*time.Hour {
		t.Errorf("after a run with an end: %+v", r)
	}
}

func TestJudge(t *testing.T) {
	result := func(level check.Level, state scan.State) scan.Result {
		return scan.Result{Scan: "s", Reference: "r", Level: level, State: state, Reason: "why"}
	}
	again := func(level check.Level, state scan.State) scan.Result {
		return scan.Result{Scan: "s", Reference: "r", Level: level, State: state, Again: true}
	}
	for _, tc := range []struct {
		results []scan.Result
		want    scan.State
		says    string
	}{
		{nil, scan.Passed, "nothing to scan"},
		{[]scan.Result{result(check.Refuse, scan.Passed), result(check.Refuse, scan.Passed)}, scan.Passed, "2 passed"},
		{[]scan.Result{result(check.Refuse, scan.Found), result(check.Refuse, scan.Running)}, scan.Found, "1 refusal, 1 is running"},
		{[]scan.Result{result(check.Warn, scan.Found), result(check.Inform, scan.Found)}, scan.Passed, "1 warning, 1 notice"},
		{[]scan.Result{result(check.Warn, scan.Running)}, scan.Running, "1 is running"},
		{[]scan.Result{again(check.Warn, scan.Passed), result(check.Warn, scan.Passed)}, scan.Running, "1 is scanned again, 1 passed"},
		{[]scan.Result{again(check.Refuse, scan.Found)}, scan.Found, "1 refusal"},
		{[]scan.Result{result(check.Warn, scan.Waiting)}, scan.Passed, "1 is waiting"},
		{[]scan.Result{result(check.Refuse, scan.Waiting)}, scan.Waiting, "1 is waiting: s of r: why"},
		{[]scan.Result{result(check.Refuse, scan.Waiting), result(check.Inform, scan.Running)}, scan.Running, "1 is waiting, 1 is running"},
	} {
		if got := scan.Combine(tc.results); got != tc.want || scan.Describe(tc.results) != tc.says {
			t.Errorf("%v: %s, %q; want %s, %q", tc.results, got, scan.Describe(tc.results), tc.want, tc.says)
		}
	}
}

// TestMarkdownOfHostileOutput checks that program output stays within its code block, and is limited in length.
func TestMarkdownOfHostileOutput(t *testing.T) {
	var results []scan.Result
	for i := range 500 {
		results = append(results, scan.Result{
			Scan: "s`*", Level: check.Refuse, State: scan.Found, Reference: fmt.Sprintf("r%d`@everyone", i), Digest: digest, Reason: "<b>@all</b>",
			Output: "````\n<script>\n  </details>\n" + strings.Repeat("long ", 1000),
		})
	}
	text := scan.Markdown(results)
	if len(text) > 60_000 || !strings.Contains(text, "450 more") {
		t.Errorf("it has %d bytes", len(text))
	}
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = line
		case line == fence:
			fence = ""
		case fence == "" && (strings.Contains(line, "<script>") || strings.Contains(line, "@all") && !strings.Contains(line, `\@all`) && !strings.Contains(line, "&#64;all") && strings.Contains(line, "<b>")):
			t.Errorf("it means something: %s", line)
		}
	}
	if fence != "" {
		t.Error("a fence is open at the end")
	}
	if scan.Markdown(nil) != "" {
		t.Error("there is a section about nothing")
	}
}

func ExampleCombine() {
	pinned, _ := chart.ParseImage("registry.example/shop:1.4.0")
	fmt.Println(pinned.At("sha256:5f2c…"))

	results := []scan.Result{
		{Scan: "vulnerabilities", Level: check.Refuse, Reference: "registry.example/shop:1.4.0", State: scan.Passed},
		{Scan: "vulnerabilities", Level: check.Refuse, Reference: "registry.example/worker:1.4.0", State: scan.Waiting, Reason: "its digest cannot be looked up"},
		{Scan: "licenses", Level: check.Inform, Reference: "registry.example/shop:1.4.0", State: scan.Found},
	}
	scan.Sort(results)
	fmt.Println(scan.Combine(results))
	fmt.Println(scan.Summary(results))
	// Output:
	// registry.example/shop@sha256:5f2c…
	// waiting
	// 1 notice, 1 is waiting, 1 passed
}
