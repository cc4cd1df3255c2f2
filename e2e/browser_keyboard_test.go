package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// focused describes what has the focus.
const focused = `(() => {
	const e = document.activeElement;
	return e === document.body ? "" : (e.id ? "#" + e.id : e.localName + " " + (e.innerText || e.value || "").trim().slice(0, 40));
})()`

// TestKeyboard: everything can be reached without a mouse, in the order in which it is read, and what is reached is seen.
func TestKeyboard(t *testing.T) {
	s := showSample(t)
	tab := s.open(t, newBrowser(t), views[0])
	must(t, tab.Visit(s.url+"/environments/dev"))
	must(t, tab.Press("/"))
	if got, err := harness.Eval[string](tab, focused); err != nil || got != "#find" {
		t.Errorf("/ leads to %q (%v)", got, err)
	}
	must(t, tab.Type("hello"))
	must(t, tab.Press("/"))
	if got, err := harness.Eval[string](tab, `document.activeElement.value`); err != nil || got != "hello/" {
		t.Errorf("the search has %q (%v)", got, err)
	}

	must(t, tab.Visit(s.url+"/environments/dev"))
	must(t, tab.Type(kb.Tab))
	if got, err := harness.Eval[string](tab, focused); err != nil || !strings.Contains(got, "Skip to content") {
		t.Errorf("the first that is reached is %q (%v)", got, err)
	}
	out, err := harness.Eval[string](tab, `(() => {
		const e = document.activeElement, r = e.getBoundingClientRect();
		return r.width > 1 && r.left >= 0 && getComputedStyle(e).outlineStyle !== "none" ? "" : e.outerHTML;
	})()`)
	if err != nil || out != "" {
		t.Errorf("it is not seen that it is reached: %s (%v)", out, err)
	}
	jumps, err := harness.Eval[string](tab, `[...document.querySelectorAll("[tabindex]")].filter((e) => e.tabIndex > 0).map((e) => e.outerHTML).join("\n")`)
	if err != nil || jumps != "" {
		t.Errorf("out of order: %s (%v)", jumps, err)
	}
	s.wantOrder(t, tab)
}

// wantOrder goes through a page with the key Tab: nothing comes before what is above it in the document, and nothing traps.
func (s *shown) wantOrder(t *testing.T, tab *harness.Tab) {
	t.Helper()
	_, err := harness.Eval[bool](tab, `window.reached = []; document.addEventListener("focusin", (e) => window.reached.push(e.target)); true`)
	must(t, err)
	for range 15 {
		must(t, tab.Type(kb.Tab))
	}
	wrong, err := harness.Eval[string](tab, `window.reached.filter((e, i) => i > 0 &&
		!(window.reached[i - 1].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)).map((e) => e.outerHTML).join("\n")`)
	must(t, err)
	count, err := harness.Eval[int](tab, `new Set(window.reached).size`)
	must(t, err)
	if wrong != "" || count < 15 {
		t.Errorf("15 times Tab reaches %d; out of order: %s", count, wrong)
	}
}

// TestSignInWithABrowser: nobody sees more than how to get in, and comes to where they wanted to be.
func TestSignInWithABrowser(t *testing.T) {
	s := showSample(t)
	b := newBrowser(t)
	nobody := s.openAsNobody(t, b, views[0])
	must(t, nobody.Visit(s.url+"/-/sign-in?to="+url.QueryEscape("/clusters?state=behind")))
	_, err := harness.Eval[bool](nobody, `document.getElementById("token").value = "kal_o_wrong"; true`)
	must(t, err)
	must(t, nobody.Click("main form button"))
	if text, err := nobody.Text("main [role=alert]"); err != nil || !strings.Contains(text, "The token is unknown") {
		t.Errorf("a wrong token: %q (%v)", text, err)
	}
	nobody.Complaints() // the browser says that it was refused
	_, err = harness.Eval[bool](nobody, fmt.Sprintf(`document.getElementById("token").value = %q; true`, s.token))
	must(t, err)
	must(t, nobody.Click("main form button"))
	where, err := harness.Eval[string](nobody, `location.pathname + location.search`)
	if err != nil || where != "/clusters?state=behind" {
		t.Errorf("it leads to %q (%v)", where, err)
	}
	if cookies, err := harness.Eval[string](nobody, `document.cookie`); err != nil || cookies != "" {
		t.Errorf("scripts see the cookies %q (%v)", cookies, err)
	}
	must(t, nobody.Visit(s.url+"/-/sign-out"))
	must(t, nobody.Click("main form button"))
	must(t, nobody.Visit(s.url+"/-/sign-out")) // leads to where to sign in
	if title, err := nobody.Text("h1"); err != nil || title != "Sign in" {
		t.Errorf("after signing out: %q (%v)", title, err)
	}
	if complaints := nobody.Complaints(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}
