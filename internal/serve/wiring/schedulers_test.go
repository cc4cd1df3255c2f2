package wiring

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/schedule/external/schedulertest"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// configuredScheduler is the scheduler "tested" of a configuration.
func configuredScheduler(t *testing.T, c serve.SchedulerConfig) external.Scheduler {
	t.Helper()
	c.Name = "tested"
	configs := []serve.SchedulerConfig{c}
	if err := serve.CheckSchedulers(configs); err != nil {
		t.Fatal(err)
	}
	asker, err := NewSchedulers(configs, nil, &verify.Runner{Temp: t.TempDir()}, map[string]string{"TOKEN": "hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	return asker.Schedulers["tested"].Scheduler
}

// answerScript answers requests of both tasks.
const answerScript = `request=$(cat)
digest=$(printf %s "$request" | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')
case $request in
*'"task":"extend"'*) echo "{\"version\":1,\"digest\":\"$digest\",\"refused\":[{\"target\":\"shop-web\",\"clusterType\":\"large\",\"reason\":\"dear\"}]}" ;;
*) echo "{\"version\":1,\"digest\":\"$digest\",\"decisions\":[{\"target\":\"shop-web\",\"clusterType\":\"small\",\"reason\":\"cheap\"}]}" ;;
esac
`

func TestProgramsAreSchedulers(t *testing.T) {
	t.Parallel()
	schedulertest.Run(t, func(t *testing.T, b schedulertest.Behaviour) external.Scheduler {
		script := map[schedulertest.Behaviour]string{
			schedulertest.Chooses: answerScript, schedulertest.Fails: "exit 1", schedulertest.Hangs: "sleep 60", schedulertest.Garbles: "echo hello",
		}[b]
		return configuredScheduler(t, serve.SchedulerConfig{Command: []string{"/bin/sh", "-c", script}})
	})
}

func TestEndpointsAreSchedulers(t *testing.T) {
	t.Parallel()
	schedulertest.Run(t, func(t *testing.T, b schedulertest.Behaviour) external.Scheduler {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if err != nil || r.Header.Get("Authorization") != "Bearer hunter2" {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			_, rest, _ := strings.Cut(string(text), `"digest":"`)
			digest, _, _ := strings.Cut(rest, `"`)
			switch {
			case b == schedulertest.Fails:
				http.Error(w, "no prices", http.StatusInternalServerError)
			case b == schedulertest.Hangs:
				<-r.Context().Done()
			case b == schedulertest.Garbles:
				fmt.Fprint(w, "<html>hello</html>")
			case strings.Contains(string(text), `"task":"extend"`):
				fmt.Fprintf(w, `{"version":1,"digest":%q,"refused":[{"target":"shop-web","clusterType":"large","reason":"dear"}]}`, digest)
			default:
				fmt.Fprintf(w, `{"version":1,"digest":%q,"decisions":[{"target":"shop-web","clusterType":"small","reason":"cheap"}]}`, digest)
			}
		}))
		t.Cleanup(server.Close)
		return configuredScheduler(t, serve.SchedulerConfig{URL: server.URL, TokenEnv: "TOKEN"})
	})
}

const decided = `apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: d, labels: {cluster.open-cluster-management.io/placement: chosen}}
status: {decisions: [{clusterName: small}]}
`

func TestPlacementDecisionsAreASchedulerFromAFile(t *testing.T) {
	t.Parallel()
	schedulertest.Run(t, func(t *testing.T, b schedulertest.Behaviour) external.Scheduler {
		file := filepath.Join(t.TempDir(), "decisions.yaml")
		switch b {
		case schedulertest.Hangs:
			return configuredScheduler(t, serve.SchedulerConfig{PlacementDecisions: &serve.PlacementDecisionsConfig{Command: []string{"/bin/sleep", "60"}}})
		case schedulertest.Fails: // there is no file
		default:
			text := map[bool]string{true: decided, false: "a: ["}[b == schedulertest.Chooses]
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return configuredScheduler(t, serve.SchedulerConfig{PlacementDecisions: &serve.PlacementDecisionsConfig{Path: file}})
	})
}

func TestPlacementDecisionsAreASchedulerFromACommand(t *testing.T) {
	t.Parallel()
	schedulertest.Run(t, func(t *testing.T, b schedulertest.Behaviour) external.Scheduler {
		script := map[schedulertest.Behaviour]string{
			schedulertest.Chooses: "cat <<'E'\n" + decided + "E\n", schedulertest.Fails: "exit 1", schedulertest.Hangs: "sleep 60", schedulertest.Garbles: "echo 'a: ['",
		}[b]
		return configuredScheduler(t, serve.SchedulerConfig{PlacementDecisions: &serve.PlacementDecisionsConfig{Command: []string{"/bin/sh", "-c", script}}})
	})
}

func TestSchedulersThatCannotBeConfigured(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		"{name: default, command: [/bin/x]}":                                  "part of Kalypso",
		"{name: Cost, command: [/bin/x]}":                                     "not a name",
		"{name: cost}":                                                        "exactly one of",
		"{name: cost, command: [/bin/x], url: 'http://x'}":                    "exactly one of",
		"{name: cost, command: []}":                                           "absolute path",
		"{name: cost, command: [x]}":                                          "absolute path",
		"{name: cost, url: 'ftp://x'}":                                        "want a URL",
		"{name: cost, url: 'https://u:p@x'}":                                  "want a URL",
		"{name: cost, url: 'http://x.example', tokenEnv: T}":                  "use https",
		"{name: cost, command: [/bin/x], tokenEnv: T}":                        "it is for a url",
		"{name: cost, command: [/bin/x], timeout: 1h}":                        "at most 2m",
		"{name: ocm, placementDecisions: {}}":                                 "one of path, repo and command",
		"{name: ocm, placementDecisions: {path: /x}, facts: /y}":              "facts already",
		"{name: ocm, placementDecisions: {repo: 'https://x', path: ../../y}}": "not a folder in the repository",
		"{name: a, command: [/bin/x]}, {name: a, command: [/bin/y]}":          "another scheduler has the name",
	} {
		c, err := serve.ParseConfig([]byte("schedulers: ["+text+"]"), nil)
		if err == nil {
			err = serve.CheckSchedulers(c.Schedulers)
		}
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
