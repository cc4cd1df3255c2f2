package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// at is the time of a number of minutes before noon, as a parameter.
func at(minutesAgo int) string {
	return url.QueryEscape(noon.Add(-time.Duration(minutesAgo) * time.Minute).Format(time.RFC3339))
}

func TestFleetAtAPointInTime(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	p := w.see("/?asOf=" + at(28))
	p.wants(".asof", "2026-11-20 11:32:00 UTC")
	p.wants("td[data-env=dev]", "2 of 3")
	if links := p.all("a[href=/environments/dev]"); len(links) > 0 {
		t.Error("a link leads from the past to now")
	}
	p.wants(".time output", "2026-11-20 11:32:00 UTC")
	if concerns := p.all("[data-concerns]"); len(concerns) > 0 {
		t.Error("the past is kept up to date")
	}
}

func TestSliderHasMomentsOfSteps(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	p := w.see("/environments/dev")
	p.wants(".moments li", ", and 2 more")
	if links := p.all(".moments a"); len(links) < 3 {
		t.Errorf("%d moments, want those of the steps", len(links))
	}
	for _, a := range p.all(".moments a") {
		w.see(attribute(a, "href")).wants(".moments a[aria-current=true]", "")
	}
}

// Without scripts, the form sends the time in seconds.
func TestSliderIsAForm(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	for _, tc := range []struct {
		path, want string
		code       int
	}{
		{"/?at=1795174200", "/?asOf=2026-11-20T11%3A30%3A00Z", http.StatusSeeOther},
		{"/environments/dev?find=a&at=1795174200", "/environments/dev?asOf=2026-11-20T11%3A30%3A00Z&find=a", http.StatusSeeOther},
		{"/compare?a=dev&b=dev&at=1795174200", "/compare?a=dev&asOf=2026-11-20T11%3A30%3A00Z&b=dev", http.StatusSeeOther},
		{"/?at=1795176000", "/", http.StatusSeeOther}, // the end is now
		{"/?at=x", "", http.StatusBadRequest},
		{"/?at=-1", "", http.StatusBadRequest},
		{"/?at=99999999999999", "", http.StatusBadRequest},
	} {
		if a := w.ask(tc.path); a.Code != tc.code || a.Header().Get("Location") != tc.want {
			t.Errorf("%s: got %d %s, want %d %s", tc.path, a.Code, a.Header().Get("Location"), tc.code, tc.want)
		}
	}
}

func TestCompareOneEnvironmentAtTwoTimes(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	p := w.see("/compare?a=dev&b=dev&asOf=" + at(56) + "&bAsOf=" + at(10))
	p.wants(".asof", "compared with 2026-11-20 11:50:00 UTC")
	p.wants("#between", "What happened between")
	p.wants(".timeline li", "published")
	p.wants("table tr", "hello test large second time")
	p.wants("#configuration", "Different configuration")
	p.wants(".empty", "The history has no values of the platform configuration")
	back := w.see("/compare?a=dev&b=dev&asOf=" + at(10) + "&bAsOf=" + at(56))
	if got, want := len(back.all(".timeline li")), len(p.all(".timeline li")); got != want {
		t.Errorf("%d events backwards, %d forwards", got, want)
	}
	same := w.see("/compare?a=dev&b=dev&asOf=" + at(10))
	if strings.Contains(strings.Join(same.texts("h2"), " "), "between") {
		t.Error("something happened between a time and itself")
	}
}
