package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// onForge is the script command by which a user acts on the newest pull request of a repository, on the pages of the embedded forge:
//
//	onforge TOKENFILE REPOSITORY ACTION...    signs in with a token, and presses the buttons approve or merge
func onForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: onforge TOKENFILE REPOSITORY ACTION...")
	}
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	user := &forgeUser{ts, ts.Getenv("URL"), &http.Client{Jar: jar}}
	form := user.form(user.get("/-/sign-in"), "sign-in")
	form.Set("token", strings.TrimSpace(ts.ReadFile(args[0])))
	user.post("/-/sign-in", form)
	list := user.get("/" + args[1] + "/pulls")
	newest := regexp.MustCompile(`href="(/` + args[1] + `/pulls/\d+)"`).FindStringSubmatch(list)
	if newest == nil {
		ts.Fatalf("%s has no open pull request:\n%s", args[1], list)
	}
	for _, action := range args[2:] {
		form := user.form(user.get(newest[1]), action)
		user.post(newest[1]+"/"+action, form)
	}
}

// forgeUser is a user with a browser.
type forgeUser struct {
	ts     *testscript.TestScript
	server string
	*http.Client
}

// form returns the fields of the form that a page has for an action.
func (u *forgeUser) form(page, action string) url.Values {
	_, rest, found := strings.Cut(page, "/"+action+`"`)
	form, _, _ := strings.Cut(rest, "</form>")
	if !found {
		u.ts.Fatalf("the page has no form to %s:\n%s", action, page)
	}
	values := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		values.Set(field[1], field[2])
	}
	return values
}

func (u *forgeUser) get(path string) string {
	answer, err := u.Get(u.server + path) //nolint:noctx // a script has no context
	return u.read(answer, err)
}

func (u *forgeUser) post(path string, form url.Values) {
	answer, err := u.PostForm(u.server+path, form) //nolint:noctx // a script has no context
	u.read(answer, err)
}

func (u *forgeUser) read(answer *http.Response, err error) string {
	u.ts.Check(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	u.ts.Check(err)
	if answer.StatusCode != http.StatusOK {
		u.ts.Check(fmt.Errorf("%s answers %s:\n%s", answer.Request.URL, answer.Status, body))
	}
	return string(body)
}
