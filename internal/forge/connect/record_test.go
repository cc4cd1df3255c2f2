package connect_test

import (
	"errors"
	"flag"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops/azuredevopstest"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket/bitbuckettest"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver/bitbucketservertest"
	"github.com/kalypso-io/kalypso/internal/forge/connect"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab/gitlabtest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

var record = flag.Bool("record", false, "run the rules against the forge in FORGE_KIND, FORGE_URL, FORGE_TOKEN and FORGE_REPOSITORY, and record its answers")

// published are the descriptions that the fakes and recordings are checked against, and the folders of the recordings.
var published = map[forge.Kind]struct{ text, folder string }{
	forge.GitHub:      {githubtest.Published, "github"},
	forge.GitLab:      {gitlabtest.Published, "gitlab"},
	forge.Gitea:       {giteatest.Published, "gitea"},
	forge.AzureDevOps: {azuredevopstest.Published, "azuredevops"},

	forge.Bitbucket:       {bitbuckettest.Published, "bitbucket"},
	forge.BitbucketServer: {bitbucketservertest.Published, "bitbucketserver"},
}

func recordingOf(kind forge.Kind) string {
	return filepath.Join("..", published[kind].folder, "testdata", "recorded.jsonl")
}

// recorded runs rules against a forge, and returns what it answered.
func recorded(t *testing.T, c forge.Connection, token, repository string, run func(t *testing.T, start func(t *testing.T) forgetest.Harness)) string {
	t.Helper()
	p, err := forgetest.ParsePublished(published[c.Kind].text)
	if err != nil {
		t.Fatal(err)
	}
	id, err := forge.ParseID(repository)
	if err != nil {
		t.Fatal(err)
	}
	owner := strings.Join([]string{"acme", "fleet", "team", "part"}[:1+strings.Count(id.Owner(), "/")], "/")
	r := &forgetest.Recording{Published: p, Secrets: []forge.Secret{forge.NewSecret(token)}, Names: []string{
		id.Host, "forge.example.com", id.Owner() + "/", owner + "/", escaped(id.Owner() + "/"), escaped(owner + "/"),
	}}
	c.TokenEnv = "TOKEN"
	f, err := connect.Open(c, map[string]string{"TOKEN": token}, transport.Config{Base: r})
	if err != nil {
		t.Fatal(err)
	}
	run(t, (&realForge{forge: f, token: forge.NewSecret(token), repository: repository}).harness)
	text, err := r.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func escaped(path string) string { return strings.ReplaceAll(path, "/", "%2F") }

// TestRecord records a real forge, with "make record-forge".
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("make record-forge records a real forge")
	}
	kind := forge.Kind(os.Getenv("FORGE_KIND"))
	if _, ok := published[kind]; !ok || os.Getenv("FORGE_TOKEN") == "" || os.Getenv("FORGE_REPOSITORY") == "" {
		t.Fatal("set FORGE_KIND to github, gitlab, gitea, azuredevops, bitbucket or bitbucketserver, and FORGE_URL, FORGE_TOKEN and FORGE_REPOSITORY")
	}
	text := recorded(t, forge.Connection{Kind: kind, URL: os.Getenv("FORGE_URL")}, os.Getenv("FORGE_TOKEN"), os.Getenv("FORGE_REPOSITORY"), forgetest.Run)
	if err := os.MkdirAll(filepath.Dir(recordingOf(kind)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordingOf(kind), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	forgetest.CheckRecording(t, published[kind].text, text)
}

// TestRecorded checks the descriptions against the recordings that exist.
func TestRecorded(t *testing.T) {
	for kind, p := range published {
		text, err := os.ReadFile(recordingOf(kind))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Run(p.folder, func(t *testing.T) { forgetest.CheckRecording(t, p.text, string(text)) })
	}
}

// A Gitea with real repositories is recorded. The recording has what the description names, and no secret.
func TestRecording(t *testing.T) {
	g := fleettest.NewGitea(t, t.TempDir())
	url := g.URL + "/platform/rules"
	text := recorded(t, forge.Connection{Kind: forge.Gitea, URL: g.URL}, giteatest.Token, url, func(t *testing.T, start func(t *testing.T) forgetest.Harness) {
		h := start(t)
		at := h.NewRepository(t)
		repo, err := h.Forge.Repository(at)
		if err != nil {
			t.Fatal(err)
		}
		head := h.Commit(t, at, "dev")
		opened, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "dev", Base: "main", Title: "T", Body: "says " + giteatest.Token})
		if err != nil || opened.Head.Commit != head {
			t.Fatalf("got %+v, %v, want the head %s", opened, err, head)
		}
		if err := repo.(forge.Hooker).EnsureHook(t.Context(), forge.Hook{URL: "https://kalypso.example.com/hooks", Secret: forge.NewSecret("s3cr3t")}); err != nil {
			t.Fatal(err)
		}
	})
	for _, secret := range []string{giteatest.Token, "s3cr3t", strings.TrimPrefix(g.URL, "http://"), "Authorization"} {
		if strings.Contains(text, secret) {
			t.Errorf("it contains %q:\n%s", secret, text)
		}
	}
	for _, want := range []string{`"path":"/api/v1/repos/acme/rules-`, `"status":201`, `"secret":"***"`, `says ***`} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s:\n%s", want, text)
		}
	}
	forgetest.CheckRecording(t, giteatest.Published, text)
}

// What a forge sends beyond the description is left out, also where it answers to a request that is not documented.
func TestRecordingIsReduced(t *testing.T) {
	p, err := forgetest.ParsePublished("root /api\nerror {message string}\nGET /user\n  200 {login string}")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(forgetest.Answer(http.StatusOK, `{"login":"ann","email":"ann@example.com"}`))
	defer server.Close()
	r := &forgetest.Recording{Published: p}
	for _, path := range []string{"/api/user", "/api/user", "/api/mail"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := r.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	text, err := r.Text()
	want := `{"method":"GET","path":"/api/mail","status":200}` + "\n" + `{"method":"GET","path":"/api/user","status":200,"response":{"login":"ann"}}` + "\n"
	if err != nil || text != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}
