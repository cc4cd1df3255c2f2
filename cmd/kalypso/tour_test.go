package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// tourist is a browser without scripts that takes the guided tour.
type tourist struct {
	t      *testing.T
	client *http.Client
	server string
}

func newTourist(t *testing.T, server string) *tourist {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &tourist{t, &http.Client{Jar: jar}, server}
}

// page is what a browser shows, and the forms on it.
type tourPage struct {
	status int
	text   string
	forms  []tourForm
}

type tourForm struct {
	action string
	values url.Values
}

var (
	formOnPage   = regexp.MustCompile(`(?s)<form[^>]*method="post"[^>]*action="([^"]+)"[^>]*>(.*?)</form>`)
	hiddenInForm = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
	textInForm   = regexp.MustCompile(`(?s)<textarea[^>]*name="content"[^>]*>\n?(.*?)</textarea>`)
	markup       = regexp.MustCompile(`(?s)<[^>]+>`)
)

func (b *tourist) do(method, path string, form url.Values) tourPage {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.server+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	p := tourPage{status: answer.StatusCode}
	for _, found := range formOnPage.FindAllStringSubmatch(string(body), -1) {
		f := tourForm{html.UnescapeString(found[1]), url.Values{}}
		for _, field := range hiddenInForm.FindAllStringSubmatch(found[2], -1) {
			f.values.Set(html.UnescapeString(field[1]), html.UnescapeString(field[2]))
		}
		if text := textInForm.FindStringSubmatch(found[2]); text != nil {
			f.values.Set("content", html.UnescapeString(text[1]))
		}
		p.forms = append(p.forms, f)
	}
	p.text = strings.Join(strings.Fields(html.UnescapeString(markup.ReplaceAllString(string(body), " "))), " ")
	return p
}

const tourPath = "/sample/tour"

func (b *tourist) look() tourPage { return b.do(http.MethodGet, tourPath, nil) }

func (b *tourist) signIn(token string) {
	b.t.Helper()
	form := b.do(http.MethodGet, "/-/sign-in?to="+url.QueryEscape(tourPath), nil)
	if len(form.forms) != 1 {
		b.t.Fatalf("%d forms to sign in: %s", len(form.forms), form.text)
	}
	form.forms[0].values.Set("token", token)
	if p := b.do(http.MethodPost, form.forms[0].action, form.forms[0].values); p.status != http.StatusOK {
		b.t.Fatalf("sign in: %d %s", p.status, p.text)
	}
}

// until loads the tour until its page has a text, and a form of an action if one is named.
func (b *tourist) until(text, action string) (tourPage, tourForm) {
	b.t.Helper()
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		p := b.look()
		at := slices.IndexFunc(p.forms, func(f tourForm) bool { return f.action == tourPath+"/"+action })
		switch {
		case strings.Contains(p.text, text) && action == "":
			return p, tourForm{}
		case strings.Contains(p.text, text) && at >= 0:
			return p, p.forms[at]
		case time.Now().After(end):
			b.t.Fatalf("the tour does not say %q with a form %q:\n%s", text, action, p.text)
		}
	}
}

func (b *tourist) send(f tourForm) tourPage {
	b.t.Helper()
	return b.do(http.MethodPost, f.action, f.values)
}

// mergeUntil merges what waits, until the page says that a step has begun.
func (b *tourist) mergeUntil(text string) {
	b.t.Helper()
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		p := b.look()
		if strings.Contains(p.text, text) {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("the tour does not come to %q:\n%s", text, p.text)
		}
		for _, f := range p.forms {
			if strings.HasSuffix(f.action, "/merge") {
				b.send(f)
				break
			}
		}
	}
}

// now is how the page marks the current step.
func now(step int, title string) string { return fmt.Sprintf("now %d. %s", step, title) }

// TestTour takes the guided tour: with a wrong edit on the way, a cluster that fails, and another browser that continues.
func TestTour(t *testing.T) {
	t.Parallel()
	listen, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if said := startSampleUp(t, dir, storyEnvironment(t), "--listen", listen); !strings.Contains(said, "http://"+listen+tourPath) {
		t.Errorf("the sample does not say where the tour is:\n%s", said)
	}
	b := newTourist(t, "http://"+listen)
	if p := b.do(http.MethodGet, "/", nil); !strings.Contains(p.text, "Repositories Tour") {
		t.Errorf("the first page does not link the tour: %s", p.text)
	}
	testTourNeedsSession(t, b)
	token, err := os.ReadFile(filepath.Join(dir, "kalypso-sample", "data", "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	b.signIn(strings.TrimSpace(string(token)))
	b.mergeUntil(now(2, "Release a version"))
	if p := b.do(http.MethodGet, tourPath+"?step=1", nil); !strings.Contains(p.text, "1. Approve what waits Continue") || slices.ContainsFunc(p.forms, inTour) {
		t.Errorf("back at the first step: %d %s", p.status, p.text)
	}

	_, release := b.until(now(2, "Release"), "propose")
	if p := b.send(tourForm{release.action, url.Values{"csrf": release.values["csrf"], "content": {"1.0.0"}}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, "change something first") {
		t.Errorf("an edit that changes nothing: %d %s", p.status, p.text)
	}
	if p := b.send(tourForm{release.action, url.Values{"csrf": {"forged"}, "content": {"1.1.0"}}}); p.status != http.StatusForbidden {
		t.Errorf("a forged form: %d %s", p.status, p.text)
	}
	b.send(release)
	b.mergeUntil(now(3, "Change a value in one environment"))
	testWrongEdit(t, b)
	b.mergeUntil(now(4, "Change something everywhere"))

	_, support := b.until(now(4, "Change something"), "propose")
	b.send(support)
	b.mergeUntil(now(5, "See a cluster fail"))
	_, fail := b.until(now(5, "See a cluster fail"), "cluster")
	b.send(fail)
	_, number := b.until(now(5, "See a cluster fail"), "propose")
	if !strings.Contains(number.values.Get("content"), "4712") {
		t.Errorf("the suggestion is %q", number.values.Get("content"))
	}
	b.send(number)
	b.mergeUntil(now(6, "Repair it"))

	other := newTourist(t, "http://"+listen)
	other.signIn(strings.TrimSpace(string(token)))
	stopped, repair := other.until("large fails at", "cluster")
	if !strings.Contains(stopped.text, "it failed in dev") {
		t.Errorf("the page does not say why stage waits: %s", stopped.text)
	}
	other.send(repair)
	other.mergeUntil("You have seen it all")
	if p := b.do(http.MethodGet, "/sample/large/stage-large-hello-world-app-uat-test", nil); !strings.Contains(p.text, "call 4712") || !strings.Contains(p.text, "west-stage") {
		t.Errorf("what arrived: %s", p.text)
	}
}

// inTour reports whether a form changes something in the tour.
func inTour(f tourForm) bool { return strings.HasPrefix(f.action, tourPath) }

// testTourNeedsSession: without a session, the tour can be read and does nothing.
func testTourNeedsSession(t *testing.T, b *tourist) {
	t.Helper()
	if p := b.look(); p.status != http.StatusOK || len(p.forms) > 0 || !strings.Contains(p.text, "Sign in to go on") {
		t.Errorf("without a session: %d, %d forms: %s", p.status, len(p.forms), p.text)
	}
	for _, action := range []string{"propose", "merge", "cluster"} {
		if p := b.do(http.MethodPost, tourPath+"/"+action, url.Values{"mode": {"fail"}, "content": {"x"}}); p.status != http.StatusUnauthorized && p.status != http.StatusForbidden {
			t.Errorf("%s without a session: %d %s", action, p.status, p.text)
		}
	}
}

// testWrongEdit: a file that is not YAML cannot be merged, the page says where it is wrong, and a correction is planned.
func testWrongEdit(t *testing.T, b *tourist) {
	t.Helper()
	_, edit := b.until(now(3, "Change a value"), "propose")
	right := edit.values.Get("content")
	edit.values.Set("content", strings.Replace(right, "kind: ConfigMap", "kind: [ConfigMap", 1))
	b.send(edit)
	wrong, again := b.until("This change has errors", "propose")
	if !strings.Contains(wrong.text, "not valid YAML") || !strings.Contains(wrong.text, "cluster-types/west-us/west-us-config.yaml:3") {
		t.Errorf("the page does not say what is wrong: %s", wrong.text)
	}
	if slices.ContainsFunc(wrong.forms, func(f tourForm) bool { return strings.HasSuffix(f.action, "/merge") }) {
		t.Error("the page offers to merge a change with errors")
	}
	again.values.Set("content", right)
	b.send(again)
	planned, merge := b.until("mysql://west-stage:8806/mysql2", "merge")
	if !strings.Contains(planned.text, "3 changed") {
		t.Errorf("the plan of the correction: %s", planned.text)
	}
	seen := merge.values.Get("head")
	merge.values.Set("head", strings.Repeat("0", len(seen)))
	if p := b.send(merge); p.status != http.StatusConflict {
		t.Errorf("merging another commit than the one that was seen: %d %s", p.status, p.text)
	}
}
