package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// story is the example fleet with a third environment, kept by "kalypso serve" as people start it, and simulated clusters
// that follow it and report. Everything that happens to the fleet happens through Git, the API, the commands and the clusters.
type story struct {
	*fleettest.Fleet
	// data is the server's folder, listen its address.
	data, listen string
	// clusters are those of each environment.
	clusters map[string]*simulate.Simulation
}

// The environments of a story, in the order of their chain, and what each of its clusters is called behind that.
var (
	storyEnvironments = []string{"dev", "stage", "prod"}
	storyTypes        = map[string]simulate.Reconciler{"drone": simulate.Flux, "large": simulate.ArgoCD}
)

// newStory writes the repositories of the fleet. Nothing runs yet.
func newStory(t *testing.T) *story {
	t.Helper()
	listen, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	s := &story{data: t.TempDir(), listen: listen}
	address := "http://" + s.listen
	// Beside the server's, this view of its forge only reads: what is said about commits.
	forgeDir := filepath.Join(s.data, wiring.LocalForgeFolder)
	host, err := local.Open(t.Context(), local.Options{Dir: forgeDir, URL: address, PublicRead: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	s.Fleet = fleettest.New(t, address, filepath.Join(forgeDir, "repos"))
	s.Host = host
	s.Notify = func() error { return host.Sync(t.Context()) }
	for _, name := range append(fleettest.Repositories, "hello-world-app-gitops", "platform-services-gitops") {
		s.Create(name)
	}
	s.PushExample()
	s.extend()
	return s
}

// extend adds what the example only speaks of: production, which is a copy of stage, and the repositories of applications.
func (s *story) extend() {
	s.Helper()
	s.Push(fleettest.ControlPlane, "prod", s.Files(fleettest.ControlPlane, "stage"))
	s.Edit("prod", "gitops-repo.yaml", "branch: stage", "branch: prod")
	for _, environment := range storyEnvironments {
		s.Edit(environment, "gitops-repo.yaml", "branch: "+environment, "branch: "+environment+"\n  autoMerge: true")
	}
	rules := s.Files(fleettest.ControlPlane, "main")[".environments/stage.yaml"]
	rules = strings.NewReplacer("stage", "prod", "[dev]", "[stage]").Replace(rules)
	s.Push(fleettest.ControlPlane, "main", map[string]string{".environments/prod.yaml": rules})
	s.adapt("hello-world-app", "    - name: uat-test\n")
	s.adapt("platform-services", "    - name: stage\n")
	for _, environment := range storyEnvironments {
		greeting := configMapFile("greeting", environment)
		s.Push("platform/hello-world-app-gitops", environment, map[string]string{
			"functional-test/greeting.yaml": greeting, "performance-test/greeting.yaml": greeting, "uat-test/greeting.yaml": greeting,
		})
		s.Push("platform/platform-services-gitops", environment, map[string]string{
			"nginx/settings.yaml": configMapFile("nginx", environment), "prometheus/settings.yaml": configMapFile("prometheus", environment),
		})
	}
}

// adapt repeats the last target of workloads for production, and has their manifests on this forge.
func (s *story) adapt(repo, lastTarget string) {
	s.Helper()
	changed := map[string]string{}
	for path, text := range s.Files("platform/"+repo, "main") {
		at := strings.Index(text, lastTarget)
		if at < 0 {
			s.Fatalf("%s of %s has no target %q", path, repo, lastTarget)
		}
		last := strings.NewReplacer("stage", "prod", "name: uat-test", "name: live").Replace(text[at:])
		changed[path] = strings.ReplaceAll(text+last, "https://github.com/example/", s.URL+"/platform/")
	}
	s.Push("platform/"+repo, "main", changed)
}

func configMapFile(name, says string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  says: " + says + "\n"
}

// config writes the configuration of the server, which polls once an hour: whatever it does, an event caused.
func (s *story) config() string {
	s.Helper()
	file := filepath.Join(s.TempDir(), "kalypso.yaml")
	writeText(s.TB.(*testing.T), file, fmt.Sprintf("controlPlanes: [%s/%s]\nlisten: %s\ndata: %s\npoll: 1h\n", s.URL, fleettest.ControlPlane, s.listen, s.data))
	return file
}

// serve runs the server until the test ends.
func (s *story) serve() {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var log lockedBuffer
	ended := make(chan int, 1)
	config := s.config()
	go func() {
		ended <- run(ctx, []string{"serve", "--config", config}, s.environment(), strings.NewReader(""), &log, &log)
	}()
	s.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 || s.Failed() {
			s.Errorf("the server ended with %d, and logged\n%s", code, &log)
		}
	})
	s.open()
}

// environment keeps a server from the configuration and the credentials of whoever runs the test.
func (s *story) environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
}

// open waits for a server, and works with the repositories through it from then on, so that it hears of every push.
func (s *story) open() {
	s.Helper()
	s.until("the server is ready", func() error {
		response, err := http.Get(s.URL + "/readyz") //nolint:noctx // the test's own patience bounds it
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
	client := &git.Client{CacheDir: s.TempDir(), Env: func(name string) string {
		return map[string]string{"KALYPSO_GIT_HOST": s.listen, "KALYPSO_GIT_USERNAME": "admin", "KALYPSO_GIT_TOKEN": s.admin().Reveal()}[name]
	}}
	s.Cleanup(func() { _ = client.Close() })
	s.Client = client
	s.Notify = func() error { return nil }
}

// admin is the token of whoever started the server.
func (s *story) admin() secret.Value {
	s.Helper()
	return readSecret(s.TB.(*testing.T), filepath.Join(s.data, wiring.AdminTokenFile))
}

// say runs a command against the server, as the administrator, and returns how it ended and what it says.
func (s *story) say(args ...string) (code int, text string) {
	s.Helper()
	return s.sayAs(s.admin(), args...)
}

func (s *story) sayAs(token secret.Value, args ...string) (code int, text string) {
	s.Helper()
	var out bytes.Buffer
	env := append(s.environment(), "TZ=UTC", backend.EnvServer+"="+s.URL, backend.EnvToken+"="+token.Reveal())
	code = run(s.Context(), args, env, strings.NewReader(""), &out, &out)
	if strings.Contains(out.String(), token.Reveal()) && !token.IsZero() {
		s.Errorf("%s shows the token", strings.Join(args, " "))
	}
	return code, out.String()
}

// tells wants a command to end well, and to say all of that, in that order.
// A status is written a moment before the round that wrote it ends and is shown, so it asks until it is told.
func (s *story) tells(command string, wants ...string) {
	s.Helper()
	s.until("kalypso "+command, func() error {
		code, text := s.say(strings.Fields(command)...)
		if code != 0 {
			return fmt.Errorf("exit code %d:\n%s", code, text)
		}
		return inOrder(text, wants...)
	})
}

func inOrder(text string, wants ...string) error {
	rest := text
	for _, want := range wants {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			return fmt.Errorf("want %q in this order in\n%s", wants, text)
		}
		rest = after
	}
	return nil
}

// createToken makes a token by the command.
func (s *story) createToken(role string, more ...string) secret.Value {
	s.Helper()
	file := filepath.Join(s.TempDir(), "token")
	code, text := s.say(append([]string{"token", "create", "of " + role, "--role", role, "--out", file}, more...)...)
	if code != 0 {
		s.Fatalf("exit code %d: %s", code, text)
	}
	return readSecret(s.TB.(*testing.T), file)
}

// commit pushes something to main that every assignment shows.
func (s *story) commit(label string) string {
	s.Helper()
	const path = "templates/default.yaml"
	text := s.Files(fleettest.ControlPlane, "main")[path]
	text = strings.Split(text, "\n          story:")[0]
	return s.Push(fleettest.ControlPlane, "main", map[string]string{path: strings.TrimRight(text, "\n") + "\n          story: " + label + "\n"})
}

// shown is the status of a commit in an environment: "success Deployed".
func (s *story) shown(commit, environment string) string {
	s.Helper()
	statuses, err := s.Repo(fleettest.ControlPlane).Statuses(s.Context(), commit)
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(statuses, func(status forge.Status) bool { return status.Context == environment })
	if i < 0 {
		return ""
	}
	return string(statuses[i].State) + " " + statuses[i].Description
}

// arrives waits until a commit is shown as deployed in environments.
func (s *story) arrives(commit string, environments ...string) {
	s.Helper()
	for _, environment := range environments {
		s.shows(commit, environment, "success Deployed")
	}
}

// leadsToPages looks whether every status of a commit leads to a page of the server.
func (s *story) leadsToPages(commit string) {
	s.Helper()
	statuses, err := s.Repo(fleettest.ControlPlane).Statuses(s.Context(), commit)
	if err != nil || len(statuses) == 0 {
		s.Fatalf("got %v, %v", statuses, err)
	}
	for _, status := range statuses {
		response, err := http.Get(status.URL) //nolint:noctx // the test's own patience bounds it
		if err != nil {
			s.Errorf("%s: %v", status.Context, err)
			continue
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK || !strings.Contains(status.URL, "/environments/"+status.Context) {
			s.Errorf("%s: %s is %s", status.Context, status.URL, response.Status)
		}
	}
}

// shows waits until the status of a commit has all of these texts, the first of them at the beginning.
func (s *story) shows(commit, environment, first string, more ...string) {
	s.Helper()
	s.until(commit[:7]+" in "+environment, func() error {
		got := s.shown(commit, environment)
		if !strings.HasPrefix(got, first) {
			return fmt.Errorf("the status is %q, want %q", got, first)
		}
		return inOrder(got, more...)
	})
}

// until looks again and again until there is no error.
func (s *story) until(what string, check func() error) {
	s.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	_, status := s.say("status")
	s.Fatalf("%s: not within %s: %v\n%s", what, patience, err, status)
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
