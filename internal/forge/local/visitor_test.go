package local

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Users who are signed in to the surrounding server are signed in here, and forms carry the server's csrf token.
func TestVisitorOfServer(t *testing.T) {
	var visitor Account
	form := ""
	f := serve(t, Options{Visitor: func(*http.Request) (Account, string, error) { return visitor, form, nil }})
	r := newRepository(t, f)
	commit(t, r, "feature", map[string]string{"shop.txt": "open\n"})
	if _, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "feature", Base: "main", Title: "Open the shop"}); err != nil {
		t.Fatal(err)
	}
	page := "/" + r.id.Path + "/pulls/1"
	b := newBrowser(t, f)
	if _, text := b.get(page); strings.Contains(text, "Open the shop") {
		t.Errorf("everybody sees:\n%s", text)
	}
	visitor, form = Account{Name: "ada@example.com", Right: Write}, "the token of a form"
	if _, text := b.get(page); !strings.Contains(text, "Open the shop") || !strings.Contains(text, `value="the token of a form"`) {
		t.Errorf("who is signed in sees:\n%s", text)
	}
	b.submit(page, "approve", nil)
	if _, text := b.get(page); !strings.Contains(text, "ada@example.com") {
		t.Errorf("the approval has no account:\n%s", text)
	}
	if status, _ := b.post(page+"/close", url.Values{"csrf": {"another one"}}); status != http.StatusForbidden {
		t.Errorf("a form of another session: got %d", status)
	}
}
