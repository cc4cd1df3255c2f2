package workflowtest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

type githubFile struct {
	// On is what starts it. A YAML parser takes the word for the truth.
	On   map[string]any       `json:"true"`
	Env  map[string]string    `json:"env"`
	Jobs map[string]githubJob `json:"jobs"`
}

type githubJob struct {
	If      string            `json:"if"`
	Needs   any               `json:"needs"`
	Uses    string            `json:"uses"`
	With    map[string]string `json:"with"`
	Secrets map[string]string `json:"secrets"`
	Env     map[string]string `json:"env"`
	Steps   []struct {
		If   string            `json:"if"`
		Uses string            `json:"uses"`
		Run  string            `json:"run"`
		Env  map[string]string `json:"env"`
	} `json:"steps"`
}

// GitHub is GitHub Actions.
func GitHub(files map[string][]byte, e Event) ([]Step, error) {
	g := &github{event: e, files: map[string]githubFile{}}
	for name, text := range files {
		var file githubFile
		if err := yaml.Unmarshal(text, &file); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		g.files[name] = file
	}
	for _, name := range sorted(g.files) {
		if g.starts(g.files[name]) {
			if err := g.file(name, g.values(nil, e.Settings)); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return g.steps, nil
}

type github struct {
	event Event
	files map[string]githubFile
	steps []Step
}

// starts reports whether the event starts a workflow.
func (g *github) starts(f githubFile) bool {
	if g.event.Kind != ConfigChanged {
		_, ok := f.On[string(g.event.Kind)]
		return ok
	}
	dispatch, _ := f.On["repository_dispatch"].(map[string]any)
	return slices.Contains(names(dispatch["types"]), string(ConfigChanged))
}

// values are what expressions may name, and the variables of every step. Inputs are those of a workflow that is called.
func (g *github) values(inputs, secrets map[string]string) map[string]string {
	server, repository := site(g.event.URL)
	values := map[string]string{
		"github.server_url": server, "github.repository": repository, "github.sha": g.event.Commit, "github.token": g.event.Token,
		"github.ref": "refs/heads/" + g.event.Branch, "github.event_name": string(g.event.Kind), "github.run_number": g.event.Number,
		"github.event.client_payload.environment": g.event.Environment,
		"inputs.commit": "", "inputs.version": "", "inputs.environment": "",
	}
	for _, name := range []string{"DELIVER", "CONTROL_PLANE", "SCAN", "PUBLISH", "KALYPSO_CHART_HOST", "KALYPSO_CHART_USERNAME"} {
		values["vars."+name] = g.event.Settings[name]
	}
	for _, name := range []string{"DELIVERY_TOKEN", "DELIVERY_READ_TOKEN", "KALYPSO_LEDGER", "KALYPSO_CHART_PASSWORD"} {
		values["secrets."+name] = secrets[name]
	}
	for name, value := range inputs {
		values["inputs."+name] = value
	}
	return values
}

func lookUp(values map[string]string) scope {
	return scope{func(name string) (string, error) {
		value, ok := values[name]
		if !ok {
			return "", fmt.Errorf("there is no %q", name)
		}
		return value, nil
	}}
}

// file adds the steps of a workflow: each job after those that it needs.
func (g *github) file(name string, values map[string]string) error {
	f, ran := g.files[name], map[string]bool{}
	for range f.Jobs {
		for _, job := range sorted(f.Jobs) {
			j := f.Jobs[job]
			if ran[job] || slices.ContainsFunc(names(j.Needs), func(n string) bool { return !ran[n] }) {
				continue
			}
			ran[job] = true
			if err := g.job(job, f, j, values); err != nil {
				return fmt.Errorf("job %q: %w", job, err)
			}
		}
	}
	if len(ran) != len(f.Jobs) {
		return fmt.Errorf("only %d of %d jobs can run: others need what is not there", len(ran), len(f.Jobs))
	}
	return nil
}

func (g *github) job(name string, f githubFile, j githubJob, values map[string]string) error {
	if runs, err := lookUp(values).holds(j.If); !runs || err != nil {
		return err
	}
	if j.Uses != "" {
		inputs, err := filled(j.With, values)
		if err != nil {
			return err
		}
		secrets, err := filled(j.Secrets, values)
		if err != nil {
			return err
		}
		called := path.Clean(j.Uses)
		if _, ok := g.files[called]; !ok {
			return fmt.Errorf("there is no workflow %s", called)
		}
		return g.file(called, g.values(inputs, secrets))
	}
	checkout := false
	for _, s := range j.Steps {
		checkout = checkout || strings.HasPrefix(s.Uses, "actions/checkout@")
		runs, err := lookUp(values).holds(s.If)
		if err != nil {
			return err
		}
		if s.Run == "" || !runs {
			continue
		}
		env, err := filled(merged(f.Env, j.Env, s.Env), values)
		if err != nil {
			return err
		}
		g.steps = append(g.steps, Step{Job: name, Script: s.Run, Env: merged(map[string]string{
			"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": values["github.server_url"], "GITHUB_REPOSITORY": values["github.repository"],
			"GITHUB_SHA": g.event.Commit, "GITHUB_REF_NAME": g.event.Branch,
		}, env), Checkout: checkout})
	}
	return nil
}

var githubExpression = regexp.MustCompile(`\$\{\{(.*?)\}\}`)

// filled replaces the expressions in texts.
func filled(texts, values map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, key := range sorted(texts) {
		var failed error
		out[key] = githubExpression.ReplaceAllStringFunc(texts[key], func(found string) string {
			value, err := lookUp(values).eval(githubExpression.FindStringSubmatch(found)[1])
			if err != nil {
				failed = err
			}
			return value
		})
		if failed != nil {
			return nil, fmt.Errorf("%s: %w", key, failed)
		}
	}
	return out, nil
}
