package local

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Every branch of every template works with its page's data, full and empty.
func TestTemplatesFitTheirPages(t *testing.T) {
	label := forge.Label{Name: "promoted", Color: "0e8a16"}
	change := func(state forge.State, m forge.Mergeable) pullRequestPage {
		return pullRequestPage{
			PullRequest: forge.PullRequest{
				Number: 1, Title: "T", State: state, Draft: true, Author: "ada", EndedBy: "bob", EndedAt: time.Now(),
				Head: forge.Ref{Branch: "h", Commit: "c"}, Base: forge.Ref{Branch: "b"}, Mergeable: m, MergeCommit: "m",
			},
			Body: "<p>", Labels: []forge.Label{label}, Offered: []string{"x"}, Approvals: []string{"bob"}, Missing: []string{"check"}, Waiting: true,
			Checks:   []forge.Status{{Context: "ci", State: forge.Success, Description: "d", URL: "https://example.com"}, {Context: "x", State: forge.Errored}},
			CanMerge: true, CanApprove: true, Comments: []commentBox{{forge.Comment{ID: "1", Author: "ada"}, "<p>"}},
			Diff: diff{More: 1, Files: []fileDiff{
				{Name: "f", Hidden: "no", Notes: []forge.Annotation{{Line: 3, More: 2, Hint: "h"}}},
				{Folded: true, Hunks: []hunk{{1, 1, []diffLine{
					{Class: "added", Old: 1, New: 2, Sign: "+", Text: "x", Notes: []forge.Annotation{{Level: forge.Warning, Title: "rule"}}}, {Code: "<b>"},
				}}}},
			}},
		}
	}
	at := place{Ref: "main", Commit: "c", Crumbs: []link{{"a", "/a"}, {"b", "/b"}}}
	list := listPage{
		Kind: "pulls", State: forge.Open, Tabs: []forge.State{forge.Open, forge.Closed}, Cut: true,
		Lines: []listLine{{1, "/l", "T", "ada", forge.Open, true, "h", []forge.Label{label}, time.Now(), "bob"}},
	}
	templates := parsePages()
	for name, pages := range map[string][]any{
		"repositories": {repositoriesPage{New: "git push"}, repositoriesPage{[]repositoryLine{{"a/b", "/a/b", "d", true}}, ""}},
		"repository": {
			folderPage{},
			folderPage{Empty: true, CloneURL: "u"},
			folderPage{place: at, Branches: at.Crumbs, Entries: []treeLine{{at.Crumbs[0], "folder"}}, More: 1, Readme: "<p>"},
		},
		"files":        {filePage{}, filePage{place: at, Hidden: "no"}, filePage{place: at, Lines: []codeLine{{"a", "<b>"}, {}}, Size: 2}},
		"commits":      {commitsPage{}, commitsPage{place: at, Path: "b", Next: "?from=c", Lines: []commitLine{{"/l", "c", "T", "ada", time.Now()}}}},
		"commit":       {commitPage{}, commitPage{Body: "b", Parents: at.Crumbs, Diff: change(forge.Open, "").Diff}},
		"pullrequests": {listPage{}, list},
		"pullrequest":  {pullRequestPage{}, change(forge.Open, forge.MergeableNo), change(forge.Open, forge.MergeableYes), change(forge.Closed, ""), change(forge.Merged, "")},
		"open":         {openPage{}, openPage{[]string{"a", "b"}, "a", "b"}},
		"issues":       {listPage{}, list},
		"issue":        {issuePage{}, issuePage{Issue: forge.Issue{State: forge.Open}, Labels: []forge.Label{label}}},
		"signin":       {signInData{}, signInData{"/x", true}},
		"problem":      {problemPage{}, problemPage{404, "Not Found", "d"}},
	} {
		for _, page := range pages {
			for _, writable := range []bool{false, true} {
				f := frame{Title: "T", Base: "/git", Account: "ada", Tab: "pulls", Page: page, Repository: &heading{Private: true, Description: "d", Writable: writable}}
				if err := templates[name].Execute(io.Discard, f); err != nil {
					t.Errorf("%s of %+v: %v", name, page, err)
				}
			}
		}
		delete(templates, name)
	}
	for name := range templates {
		t.Errorf("page %s is not tried", name)
	}
}

// browser visits pages and remembers cookies.
type browser struct {
	*testing.T
	http.Client
	site string
}

func newBrowser(t *testing.T, f *Forge) *browser {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	return &browser{t, http.Client{Jar: jar}, f.site.URL()}
}

// signIn signs in with a token that has a right, as an account.
func (b *browser) signIn(f *Forge, name string, right Right) {
	b.Helper()
	secret, _, err := f.CreateToken(b.Context(), "browser", Account{Name: name, Right: right})
	if err != nil {
		b.Fatal(err)
	}
	if status, page := b.post("/-/sign-in", url.Values{"token": {secret.Reveal()}}); status != http.StatusOK {
		b.Fatalf("sign in: %d %s", status, page)
	}
}

func (b *browser) get(path string) (int, string) {
	b.Helper()
	answer, err := b.Get(b.site + path)
	return b.read(answer, err)
}

func (b *browser) post(path string, form url.Values) (int, string) {
	b.Helper()
	answer, err := b.PostForm(b.site+path, form)
	return b.read(answer, err)
}

func (b *browser) read(answer *http.Response, err error) (int, string) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

var formField = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// submit sends a page's form by its action, with its hidden fields and the typed ones.
func (b *browser) submit(page, action string, typed url.Values) (int, string) {
	b.Helper()
	_, text := b.get(page)
	_, form, found := strings.Cut(text, `action="/git`+page+"/"+action+`"`)
	if !found {
		b.Fatalf("%s has no form %s:\n%s", page, action, text)
	}
	form, _, _ = strings.Cut(form, "</form>")
	for _, field := range formField.FindAllStringSubmatch(form, -1) {
		if typed == nil {
			typed = url.Values{}
		}
		typed.Add(field[1], field[2])
	}
	return b.post(page+"/"+action, typed)
}

func TestPullRequestPage(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	head := commit(t, r, "feature", map[string]string{"shop.txt": "open\n"})
	c, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "feature", Base: "main", Title: "Open the shop"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Protect(t.Context(), "main", forge.Protection{Approvals: 1, Checks: []string{"ci"}}); err != nil {
		t.Fatal(err)
	}
	page := "/" + r.id.Path + "/pulls/1"
	b := newBrowser(t, f)
	if _, text := b.get(page); !strings.Contains(text, `name="to" value="/git`+page+`"`) || strings.Contains(text, "Open the shop") {
		t.Errorf("everybody sees:\n%s", text)
	}
	b.signIn(f, "grace", Write)
	for _, want := range []string{"Open the shop", "check ci", "approvals: 0 of 1", "shop.txt", "&#43;open"} {
		if _, text := b.get(page); !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	b.submit(page, "label", url.Values{"label": {allowDeletions}})
	if who, err := r.LabeledBy(t.Context(), 1, allowDeletions); who != "grace" || err != nil {
		t.Errorf("labeled by %q, %v", who, err)
	}
	b.submit(page, "unlabel", nil)
	b.submit(page, "comment", url.Values{"body": {"Fine **indeed**"}})
	if _, text := b.get(page); !strings.Contains(text, "Fine <strong>indeed</strong>") {
		t.Errorf("no comment:\n%s", text)
	}
	b.submit(page, "close", nil)
	b.submit(page, "reopen", nil)
	b.submit(page, "approve", nil)
	for _, step := range []struct {
		status forge.Status
		says   string
	}{
		{forge.Status{Context: "ci", State: forge.Success}, "Ready to merge."},
		{forge.Status{Context: "other", State: forge.Failure}, "Can be merged, but 1 check has not succeeded."},
	} {
		if err := r.SetStatus(t.Context(), head, step.status); err != nil {
			t.Fatal(err)
		}
		if _, text := b.get(page); !strings.Contains(text, step.says) {
			t.Errorf("it does not say %q:\n%s", step.says, text)
		}
	}
	removals := forge.Status{Context: "kalypso/deletions", State: forge.Failure, Description: "8 removals; up to 5 need no approval", Required: true}
	if err := r.SetStatus(t.Context(), head, removals); err != nil {
		t.Fatal(err)
	}
	if _, text := b.get(page); !strings.Contains(text, "check kalypso/deletions is failing: 8 removals; up to 5 need no approval") ||
		strings.Contains(text, page+"/merge") {
		t.Errorf("a required check does not block the merge:\n%s", text)
	}
	removals.State = forge.Success
	if err := r.SetStatus(t.Context(), head, removals); err != nil {
		t.Fatal(err)
	}
	b.submit(page, "merge", url.Values{"method": {"squash"}})
	got := read(t, r, c.Number)
	if got.State != forge.Merged || got.EndedBy != "grace" || len(got.Labels) != 0 {
		t.Errorf("got %+v", got)
	}
	if _, text := b.get(page); !strings.Contains(text, "Merged by grace") || !strings.Contains(text, "&#43;open") {
		t.Errorf("after the merge:\n%s", text)
	}
	if _, text := b.get("/" + r.id.Path + "/files/shop.txt"); !strings.Contains(text, "<code>open</code>") {
		t.Errorf("the file is not shown:\n%s", text)
	}
}

// An error page lists what exists, and never names the server's folders.
func TestPagesShowContents(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	commit(t, r, "main", nil)
	commit(t, r, "topic", nil)
	at := "/" + r.id.Path
	b := newBrowser(t, f)
	b.signIn(f, "grace", Write)
	for path, want := range map[string]string{
		at + "?ref=nope":          "Branch &#34;nope&#34; does not exist; choose another one: main, topic.",
		at + "/files/?ref=nope":   "Branch &#34;nope&#34; does not exist; choose another one: main, topic.",
		at + "/pulls?state=nope":  "&#34;nope&#34; is not a state; choose one of",
		at + "/issues?state=nope": "&#34;nope&#34; is not a state; choose one of",
	} {
		if _, text := b.get(path); !strings.Contains(text, want) {
			t.Errorf("%s does not say %s:\n%s", path, want, text)
		}
	}
	e, err := f.find(t.Context(), r.id.Path)
	if err != nil {
		t.Fatal(err)
	}
	dir := f.open(e).dir
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte{0}, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "objects")); err != nil {
		t.Fatal(err)
	}
	if _, text := b.get(at); strings.Contains(text, dir) {
		t.Errorf("it names folders:\n%s", text)
	}
}

func TestOpenPullRequestOnAPage(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	commit(t, r, "feature", nil)
	b := newBrowser(t, f)
	b.signIn(f, "grace", Write)
	list := "/" + r.id.Path + "/pulls"
	if _, text := b.get(list + "/new?head=feature"); !strings.Contains(text, "<option selected>feature</option>") || !strings.Contains(text, "<option selected>main</option>") {
		t.Errorf("got\n%s", text)
	}
	form := url.Values{"head": {"feature"}, "base": {"main"}, "title": {"By hand"}, "body": {"**Why**"}}
	if status, text := b.post(list, form); status != http.StatusForbidden {
		t.Errorf("without the form's token: %d %s", status, text)
	}
	u, _ := url.Parse(b.site)
	form.Set("csrf", formToken(b.Jar.Cookies(u)[0].Value))
	if _, text := b.post(list, form); !strings.Contains(text, "By hand") || !strings.Contains(text, "<strong>Why</strong>") {
		t.Errorf("got\n%s", text)
	}
	if status, text := b.post(list, form); status != http.StatusConflict || !strings.Contains(text, "Pull request 1 is open") {
		t.Errorf("again: %d %s", status, text)
	}
	reader := newBrowser(t, f)
	reader.signIn(f, "reader", Read)
	if status, _ := reader.get(list + "/new"); status != http.StatusForbidden {
		t.Errorf("a reader: %d", status)
	}
}

func TestForgedFormsAreRefused(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	commit(t, r, "feature", nil)
	if _, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "feature", Base: "main", Title: "T"}); err != nil {
		t.Fatal(err)
	}
	page := "/" + r.id.Path + "/pulls/1"
	b := newBrowser(t, f)
	if status, _ := b.post(page+"/close", nil); status != http.StatusForbidden {
		t.Errorf("signed out: got %d", status)
	}
	b.signIn(f, "grace", Write)
	for _, csrf := range []string{"", "wrong", formToken("another session")} {
		if status, _ := b.post(page+"/close", url.Values{"csrf": {csrf}}); status != http.StatusForbidden {
			t.Errorf("form token %q: got %d", csrf, status)
		}
	}
	request, _ := http.NewRequest(http.MethodPost, b.site+"/-/sign-in", strings.NewReader("token=x"))
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	if answer, err := b.Do(request); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("signing in from elsewhere: %v, %v", answer, err)
	}
	reader := newBrowser(t, f)
	reader.signIn(f, "reader", Read)
	if _, text := reader.get(page); strings.Contains(text, page+"/close") {
		t.Error("a reader is offered to close")
	}
	u, _ := url.Parse(b.site)
	session := ""
	for _, c := range reader.Jar.Cookies(u) {
		session = c.Value
	}
	if status, text := reader.post(page+"/close", url.Values{"csrf": {formToken(session)}}); status != http.StatusForbidden || !strings.Contains(text, "right write") {
		t.Errorf("a reader closes: %d %s", status, text)
	}
	if got := read(t, r, 1); got.State != forge.Open {
		t.Errorf("the pull request is %s", got.State)
	}
}

func TestSessions(t *testing.T) {
	now := time.Now()
	f := serve(t, Options{Now: func() time.Time { return now }})
	r := newRepository(t, f)
	page := "/" + r.id.Path
	b := newBrowser(t, f)
	if status, text := b.post("/-/sign-in", url.Values{"token": {"wrong"}}); status != http.StatusForbidden || !strings.Contains(text, "unknown or revoked") {
		t.Errorf("wrong token: %d %s", status, text)
	}
	signedIn := func() bool { _, text := b.get(page); return strings.Contains(text, "grace") }
	b.signIn(f, "grace", Write)
	if !signedIn() {
		t.Error("not signed in")
	}
	b.post("/-/sign-out", nil)
	if signedIn() {
		t.Error("not signed out")
	}
	b.signIn(f, "grace", Write)
	now = now.Add(sessionLength + time.Second)
	if signedIn() {
		t.Error("the session does not end")
	}
	b.signIn(f, "grace", Write)
	tokens, _ := f.Tokens(t.Context())
	if err := f.RevokeToken(t.Context(), tokens[len(tokens)-1].ID); err != nil || signedIn() {
		t.Errorf("the session outlives its token: %v", err)
	}
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	secret, _, _ := f.CreateToken(t.Context(), "x", Account{Name: "grace", Right: Read})
	for to, want := range map[string]string{
		"/git/team/x":         "/git/team/x",
		"https://example.com": "/git/", "//example.com": "/git/", "/git/\\example.com": "/git/", "/other": "/git/", "": "/git/",
	} {
		answer, err := b.PostForm(b.site+"/-/sign-in", url.Values{"token": {secret.Reveal()}, "to": {to}})
		if err != nil || answer.Header.Get("Location") != want {
			t.Errorf("to %q: %v, %v", to, answer.Header, err)
		}
		cookie := answer.Header.Get("Set-Cookie")
		if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") || strings.Contains(cookie, secret.Reveal()) {
			t.Errorf("cookie %q", cookie)
		}
	}
}

// Titles, branches, files and texts are escaped on every page.
func TestHostileTextIsShown(t *testing.T) {
	const evil = `<script>alert("1")</script>'"><img src=x onerror=alert(1)>`
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	branch := `a"><script>b'&<i>`
	head := commit(t, r, branch, map[string]string{`"><script>x?#%2f.md`: evil + "\n", "README.md": evil + "\n\n[x](javascript:alert(1)) <a href=javascript:alert(1)>x</a>\n"})
	ctx := t.Context()
	c, err := r.OpenPullRequest(ctx, forge.NewPullRequest{Head: branch, Base: "main", Title: evil, Body: evil + "\n\n" + evil + "\n\n<details onclick=x><summary>s</summary>\n\n</details>"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.As(Account{Name: "ada", Right: Write}).at(r.id.Path).Comment(ctx, c.Number, evil); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		r.EnsureLabel(ctx, forge.Label{Name: evil, Color: `"/><script>`}),
		r.AddLabels(ctx, c.Number, evil),
		r.SetStatus(ctx, head, forge.Status{Context: evil, State: forge.Success, Description: evil, URL: "javascript:alert(1)"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.OpenIssue(ctx, forge.NewIssue{Title: evil, Body: evil, Labels: []string{evil}}); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, f)
	at := "/" + r.id.Path
	for _, page := range []string{
		"/", at, at + "?x=" + url.QueryEscape(evil), at + "/pulls", at + "/pulls/1", at + "/issues", at + "/issues/2",
		at + "/files/?ref=" + url.QueryEscape(branch), at + "/files/" + url.PathEscape(`"><script>x?#%2f.md`) + "?ref=" + url.QueryEscape(branch),
		at + "/files/?ref=" + head, "/-/sign-in?to=" + url.QueryEscape(evil),
	} {
		answer, err := b.Get(b.site + page)
		status, text := b.read(answer, err)
		if status != http.StatusOK {
			t.Errorf("%s: status %d", page, status)
		}
		for _, bad := range []string{"<script", "<img src=x", "<i>", `="javascript:`, "=javascript:alert(1)>x</a>", "<details onclick"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s contains %s:\n%s", page, bad, text)
			}
		}
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", page, answer.Header)
		}
		tags := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(text, `""`)
		if regexp.MustCompile(`<style|<[a-z][^>]*\s(style|on\w+)=`).MatchString(tags) {
			t.Errorf("%s has inline style or script:\n%s", page, text)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"a <!-- marker --> b": "<p>a  b</p>\n",
		"<!-- marker -->":     "",
		"<details><summary>s</summary>\n\nx\n\n</details>": "<details><summary>s</summary>\n<p>x</p>\n</details>",
		"<sub>from a@1</sub>":                              "<p><sub>from a@1</sub></p>\n",
		"<details open>\n<b>x</b>":                         "<details open>\n&lt;b&gt;x&lt;/b&gt;",
		"[a](javascript:x)":                                "<p><a href=\"\">a</a></p>\n",
		"- [x] done":                                       "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> done</li>\n</ul>\n",
	} {
		if got := markdown(text); got != template.HTML(want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestPagesThatAreNotThere(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	b := newBrowser(t, f)
	b.signIn(f, "reader", Read)
	at := "/" + r.id.Path
	for _, page := range []string{
		"/x", "/x/y", at + "/pulls/7", at + "/pulls/x", at + "/issues/7", at + "/files/none", at + "/files/?ref=none", at + "/wiki",
		at + "/files/?ref=" + strings.Repeat("d", 40), at + "/files/..%2f..%2fetc",
		at + "/commits/?ref=none", at + "/commits/?from=" + strings.Repeat("d", 40), at + "/commit/" + strings.Repeat("d", 40), "/x/y/commits/",
	} {
		if status, text := b.get(page); status != http.StatusNotFound || !bytes.Contains([]byte(text), []byte("<h1>Not Found</h1>")) {
			t.Errorf("%s: status %d", page, status)
		}
	}
}

// TestCommitPages: a branch and a file have lists of commits, by pages, and a commit shows what it changed, to the
// word.
func TestCommitPages(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	var last string
	for i := range shownCommits + 1 {
		last = commit(t, r, "main", map[string]string{"shop.yaml": fmt.Sprintf("image: shop:1.0.%d\nreplicas: 2\n", i)})
	}
	commit(t, r, "main", map[string]string{"other.yaml": "x: <b>\n"})
	b := newBrowser(t, f)
	b.signIn(f, "reader", Read)
	at := "/" + r.id.Path
	_, all := b.get(at + "/commits/")
	if n := strings.Count(all, "/commit/"); n != shownCommits {
		t.Errorf("the first page lists %d commits, want %d", n, shownCommits)
	}
	next := regexp.MustCompile(`href="(\?[^"]*)" rel="next"`).FindStringSubmatch(all)
	if next == nil {
		t.Fatalf("no next page:\n%s", all)
	}
	if _, rest := b.get(at + "/commits/" + strings.ReplaceAll(next[1], "&amp;", "&")); !strings.Contains(rest, "/commit/") || strings.Contains(rest, `rel="next"`) {
		t.Errorf("the second page is not the last:\n%s", rest)
	}
	_, history := b.get(at + "/commits/other.yaml")
	if n := strings.Count(history, "/commit/"); n != 1 {
		t.Errorf("other.yaml has %d commits, want 1", n)
	}
	_, one := b.get(at + "/commit/" + last)
	for _, want := range []string{"shop:1.0.<mark>49</mark>", "shop:1.0.<mark>50</mark>", "1 file", "Files at this commit"} {
		if !strings.Contains(one, want) {
			t.Errorf("the commit does not say %q:\n%s", want, one)
		}
	}
	for _, bad := range []string{"/commit/main", "/commit/abc", "/commits/?from=abc"} {
		if status, _ := b.get(at + bad); status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d", bad, status)
		}
	}
}

// TestMarkdownFitsThePage: rendered texts have no first heading of their own, and no empty heads of tables.
func TestMarkdownFitsThePage(t *testing.T) {
	got := string(markdown("### A\n\n#### B\n\n| | x |\n|---|---|\n| 1 | 2 |\n"))
	for _, want := range []string{"<h2>A</h2>", "<h3>B</h3>", `<table tabindex="0">`, "<td></td>\n<th>x</th>"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if deep := string(markdown("# A\n\n###### B")); deep != "<h2>A</h2>\n<h6>B</h6>\n" {
		t.Errorf("got %s", deep)
	}
}

// TestHistoryOfUnreadableFolders: a path below a file has no history, and a folder that cannot be read is an error,
// not a path that does not exist.
func TestHistoryOfUnreadableFolders(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	hash := plumbing.NewHash(commit(t, r, "main", map[string]string{"apps/shop/values.yaml": "replicas: 1\n"}))
	var objects bare
	if err := r.write(t.Context(), Write, func(e entry) error { objects = r.forge.open(e); return nil }); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{
		"apps": true, "apps/shop/values.yaml": true, "apps/none": false, "README.md/values.yaml": false, "../apps": false, "": false,
	} {
		if got, err := hashAt(objects, hash, file); err != nil || got.IsZero() == want {
			t.Errorf("%q: %s, %v", file, got, err)
		}
	}
	folder, err := hashAt(objects, hash, "apps/shop")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(objects.dir, "objects", folder.String()[:2], folder.String()[2:])); err != nil {
		t.Fatal(err)
	}
	if err := r.write(t.Context(), Write, func(e entry) error { objects = r.forge.open(e); return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := hashAt(objects, hash, "apps/shop/values.yaml"); err == nil {
		t.Errorf("a folder that is not there has %s", got)
	}
	b := newBrowser(t, f)
	b.signIn(f, "reader", Read)
	if status, _ := b.get("/" + r.id.Path + "/commits/apps/shop/values.yaml"); status < 500 {
		t.Errorf("the page of its history: status %d", status)
	}
}

func TestMergesAreNamedByWhatChanged(t *testing.T) {
	c := pullRequest{}
	c.Number, c.Title = 7, "dev: Move the database"
	c.Head.Branch = "kalypso/dev"
	if got, want := mergeMessage(c, forge.Merge{Message: "for ann"}), "dev: Move the database (#7)\n\nfor ann\n\nMerged from kalypso/dev\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
