package wiring

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

var ada = access.Identity{Name: "ada@example.com", Role: access.Operator, Source: access.BySession, Claimed: []string{"sre"}}

func newByHand(w *world) *byHand {
	return &byHand{flows: w.flows, url: "https://kalypso.example", key: secret.New("a key that is long enough"), turns: semaphore.NewWeighted(1)}
}

func TestValuesOfAnApplicationBecomeOnePullRequestInTheNameOfTheUser(t *testing.T) {
	t.Parallel()
	s, _ := registeredShop(t)
	v := newByHand(s.world)
	schema := `{"properties": {"replicas": {"type": "integer", "minimum": 0, "editableBy": ["sre"]}}}`
	s.Push(shopSource, "main", map[string]string{"helm/values.schema.json": schema})
	a := &query.Application{ControlPlane: s.URL + "/" + fleettest.ControlPlane, Subject: deliver.SubjectOf(s.URL+"/"+shopSource, "shop"), Name: "shop"}
	f, err := v.ApplicationForm(t.Context(), a, deliver.FormRequest{Environment: "dev", Target: "functional-test", Author: v.Author(ada)})
	if err != nil || f.File != "functional-test/values.yaml" || len(f.Fields) < 3 {
		t.Fatalf("got %+v, %v", f, err)
	}
	request := func(value string) deliver.SetRequest {
		n, err := editing.Value(value)
		if err != nil {
			t.Fatal(err)
		}
		return deliver.SetRequest{Environment: "dev", Target: "functional-test", Author: v.Author(ada), When: s.now, Values: []deliver.SetValue{{Path: []string{"replicas"}, Value: n}}}
	}
	preview, w, err := v.SetApplication(t.Context(), a, request("4"), ada, false)
	if err != nil || w != nil || len(preview.Targets) != 1 || len(preview.Problems) > 0 {
		t.Fatalf("the preview is %+v, %+v, %v", preview, w, err)
	}
	if got := s.Branches(shopConfigs); len(got) != 2 {
		t.Errorf("a preview leaves the branches %v", got)
	}
	if wrong, w, err := v.SetApplication(t.Context(), a, request("-1"), ada, true); err != nil || w != nil || len(wrong.Problems) != 1 {
		t.Errorf("a wrong value: %+v, %+v, %v", wrong, w, err)
	}
	_, first, err := v.SetApplication(t.Context(), a, request("4"), ada, true)
	if err != nil || first == nil || first.PullRequest == nil || first.Known {
		t.Fatalf("got %+v, %v", first, err)
	}
	client := s.flows.Client
	repo, err := client.Open(t.Context(), s.URL+"/"+shopConfigs)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Resolve(t.Context(), first.Branch, "")
	if err != nil || head.Author != "ada@example.com" || head.Email != "ada@example.com" {
		t.Errorf("the commit is by %s <%s>, %v", head.Author, head.Email, err)
	}
	if body := first.PullRequest.Body; !strings.Contains(body, "Set by ada@") || !strings.Contains(body, "`replicas` from `2` to `4`") {
		t.Errorf("the pull request says\n%s", body)
	}
	s.Push(shopConfigs, "dev", map[string]string{"values.yaml": "greeting: changed meanwhile\n"})
	_, again, err := v.SetApplication(t.Context(), a, request("4"), ada, true)
	if err != nil || again == nil || !again.Known || again.PullRequest.Number != first.PullRequest.Number {
		t.Errorf("the same values again: %+v, %v", again, err)
	}
	_, other, err := v.SetApplication(t.Context(), a, request("5"), ada, true)
	if err != nil || other.PullRequest.Number == first.PullRequest.Number {
		t.Errorf("other values: %+v, %v", other, err)
	}
	// Closed, it is proposed again, on another branch.
	closed := forge.Closed
	if err := s.Repo(shopConfigs).EditPullRequest(t.Context(), first.PullRequest.Number, forge.PullRequestEdit{State: &closed}); err != nil {
		t.Fatal(err)
	}
	_, reopened, err := v.SetApplication(t.Context(), a, request("4"), ada, true)
	if err != nil || reopened.Known || reopened.Branch == first.Branch || !strings.HasPrefix(reopened.Branch, first.Branch) {
		t.Errorf("after closing: %+v, %v", reopened, err)
	}
	v.flows.Forges = nil
	var cannot *api.SettingError
	if _, _, err := v.SetApplication(t.Context(), a, request("9"), ada, true); !errors.As(err, &cannot) || cannot.Status != http.StatusUnprocessableEntity {
		t.Errorf("without a forge: %v", err)
	}
}

func TestPlanChecksPullRequestsOfTheServerAsTheUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	main := w.Files(fleettest.ControlPlane, "main")
	const schema = "schemas/hello-world-app-schema.yaml"
	w.Push(fleettest.ControlPlane, "main", map[string]string{schema: strings.ReplaceAll(main[schema], "pattern: ^mysql://", "pattern: ^mysql://\n        editableBy: [dba]")})
	v := newByHand(w)
	w.flows.vouched = v.vouched
	controlPlane := w.URL + "/" + fleettest.ControlPlane
	set := func(groups ...string) (*schedule.Setting, forge.PullRequest) {
		who := ada
		who.Claimed = groups
		r := schedule.SetRequest{
			Request: schedule.Request{ControlPlane: controlPlane, Environment: "dev"}, ConfigMap: "west-us-config", Author: v.Author(who), When: fleettest.Time,
			Values: []schedule.SetValue{{Key: "DATABASE_URL", Text: "mysql://west-2:8806/db"}},
		}
		s, written, err := v.SetPlatform(t.Context(), r, who, true)
		if err != nil {
			t.Fatal(err)
		}
		if written == nil {
			return s, forge.PullRequest{}
		}
		return s, *written.PullRequest
	}
	if s, pr := set("web"); len(s.Problems) != 1 || pr.Number != 0 {
		t.Errorf("without the right: %+v, %+v", s.Problems, pr)
	}
	_, pr := set("dba")
	preview, err := w.flows.Preview(t.Context(), controlPlane, pr)
	if err != nil || len(preview.Edits) > 0 {
		t.Errorf("got %+v, %v", preview, err)
	}
	for name, change := range map[string]func(*forge.PullRequest){
		"another seal": func(c *forge.PullRequest) { c.Body = strings.ReplaceAll(c.Body, vouchPrefix, vouchPrefix+"A") },
		"no line":      func(c *forge.PullRequest) { c.Body = "Set by ada" },
		"pushed":       func(c *forge.PullRequest) { c.Head.Commit = strings.Repeat("a", 40) },
		"a fork":       func(c *forge.PullRequest) { c.Head.Fork = "https://elsewhere" },
	} {
		other := pr
		change(&other)
		if _, ok := v.vouched(other); ok {
			t.Errorf("%s: it still counts as the user's", name)
		}
	}
}
