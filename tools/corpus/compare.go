package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kind says how a chart compares.
type kind string

// The kinds.
const (
	same      kind = "same"
	elsewhere kind = "same, Secrets elsewhere"
	withValue kind = "same, with a value"
	both      kind = "refused by both"
	different kind = "different"
	refused   kind = "refused"
	more      kind = "refused by Helm"
)

var kinds = []kind{same, elsewhere, withValue, both, different, refused, more}

// result is a comparison. detail is empty for charts that are the same.
type result struct {
	kind   kind
	detail string
}

// programs are the paths of the programs that are compared.
type programs struct{ kalypso, helm string }

// job is the part of a job of Kalypso's renderer that is used.
type job struct {
	Form     string   `json:"form"`
	Files    []file   `json:"files"`
	ListMade bool     `json:"listMade"`
	Targets  []target `json:"targets"`
}

type file struct {
	Path    string `json:"path"`
	Content []byte `json:"content"`
}

type target struct {
	Name      string   `json:"name"`
	Release   string   `json:"release"`
	Namespace string   `json:"namespace"`
	Set       []string `json:"set,omitempty"`
	Secrets   []secret `json:"secrets,omitempty"`
}

type secret struct {
	Name   string `json:"name,omitempty"`
	From   string `json:"from"`
	Value  string `json:"value,omitempty"`
	Secret string `json:"secret,omitempty"`
	Image  string `json:"image,omitempty"`
}

// rendered is the part of its result that is used.
type rendered struct {
	Manifests *struct {
		Content []byte `json:"content"`
	} `json:"manifests"`
	Made     []made `json:"made"`
	Problems []struct {
		Severity string `json:"severity"`
		Message  string `json:"message"`
		Hint     string `json:"hint"`
		Object   struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"object"`
	} `json:"problems"`
}

type made struct {
	Object struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"object"`
	Template string `json:"template"`
	From     string `json:"from"`
	Value    string `json:"value"`
	Set      string `json:"set"`
}

// elsewhereSecrets are the sources that are tried for all Secrets.
var elsewhereSecrets = []secret{{From: "ExternalSecrets"}, {From: "CertManager"}, {From: "Job", Image: "registry.example.com/kalypso-agent:v1.0.0"}}

// compare compares a chart in up to three ways.
func (p programs) compare(chart string) (result, error) {
	files, err := read(chart)
	if err != nil {
		return result{}, err
	}
	wanted, wrong := p.template(chart, nil)
	t := target{Name: "t", Release: "rel", Namespace: "ns"}
	got, err := p.render(files, t)
	if err != nil {
		return result{}, err
	}
	switch {
	case got.Manifests != nil && wrong != "":
		return result{more, wrong}, nil
	case got.Manifests != nil:
		return differs(same, wanted, got), nil
	case wrong != "":
		return result{both, wrong}, nil
	case len(got.Made) == 0:
		return result{refused, got.reason()}, nil
	}
	t.Secrets = elsewhereSecrets
	again, err := p.render(files, t)
	if err != nil {
		return result{}, err
	}
	if again.Manifests != nil {
		return differs(elsewhere, wanted, again), nil
	}
	return p.withValues(chart, files, again, got)
}

// withValues compares a chart with the values that Kalypso found in two attempts.
func (p programs) withValues(chart string, files []file, attempts ...rendered) (result, error) {
	t := target{Name: "t", Release: "rel", Namespace: "ns", Secrets: elsewhereSecrets}
	var set []string
	for _, m := range slices.Concat(attempts[0].Made, attempts[1].Made) {
		for _, value := range []string{m.Value, m.Set} {
			if argument := value + "=corpus-value"; value != "" && m.From == "" && !slices.Contains(set, argument) {
				set = append(set, argument)
			}
		}
	}
	t.Set = set
	again, err := p.render(files, t)
	if err != nil {
		return result{}, err
	}
	wanted, wrong := p.template(chart, set)
	switch {
	case again.Manifests == nil:
		return result{refused, fmt.Sprintf("tried %v: %s", set, again.reason())}, nil
	case wrong != "":
		return result{more, wrong}, nil
	}
	return differs(withValue, wanted, again), nil
}

// reason returns the first error.
func (r rendered) reason() string {
	for _, p := range r.Problems {
		if p.Severity == "error" {
			return fmt.Sprintf("%s/%s: %s: %s", p.Object.Kind, p.Object.Name, p.Message, p.Hint)
		}
	}
	return "no reason"
}

// read returns the files of a chart.
func read(chart string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(chart, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // follows links, as Helm does
			return nil //nolint:nilerr // a link to nothing
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(chart, path)
		files = append(files, file{filepath.ToSlash(name), content})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	return files, nil
}

// render renders a chart with Kalypso.
func (p programs) render(files []file, t target) (rendered, error) {
	text, err := json.Marshal(job{Form: "chart", Files: files, ListMade: true, Targets: []target{t}})
	if err != nil {
		return rendered{}, fmt.Errorf("write the job: %w", err)
	}
	var answer, wrong bytes.Buffer
	process := exec.Command(p.kalypso, "render-chart")
	process.Stdin, process.Stdout, process.Stderr = bytes.NewReader(text), &answer, &wrong
	if err := process.Run(); err != nil {
		return rendered{}, fmt.Errorf("run kalypso: %w: %s", err, wrong.String())
	}
	var all struct {
		Targets []rendered `json:"targets"`
	}
	if err := json.Unmarshal(answer.Bytes(), &all); err != nil || len(all.Targets) != 1 {
		return rendered{}, fmt.Errorf("read the answer of kalypso: %w", err)
	}
	return all.Targets[0], nil
}

// template renders a chart with Helm. wrong is the last line of its error.
func (p programs) template(chart string, set []string) (text, wrong string) {
	args := []string{"template", "rel", chart, "--namespace", "ns", "--include-crds", "--skip-tests", "--kube-version", "v1.36.0"}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	var stdout, stderr bytes.Buffer
	process := exec.Command(p.helm, args...)
	process.Stdout, process.Stderr = &stdout, &stderr
	if err := process.Run(); err != nil {
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(stderr.String()), "\n"), func(line string) bool {
			return strings.TrimSpace(line) == "" || strings.Contains(line, "--debug")
		})
		return "", strings.Join(lines[max(0, len(lines)-1):], "")
	}
	return stdout.String(), ""
}

// differs returns a result of a kind, or the first document that differs.
func differs(k kind, wanted string, got rendered) result {
	left := documents(wanted, got.Made)
	for _, d := range documents(string(got.Manifests.Content), got.Made) {
		i := slices.Index(left, d)
		if i < 0 {
			return result{different, "not Helm's: " + begin(d)}
		}
		left = slices.Delete(left, i, i+1)
	}
	left = slices.DeleteFunc(left, laterHook)
	if len(left) > 0 {
		return result{different, "only Helm's: " + begin(left[0])}
	}
	return result{kind: k}
}

func begin(document string) string {
	return strings.ReplaceAll(document[:min(len(document), 200)], "\n", "\\n")
}

// hookLine matches the events of a hook.
var hookLine = regexp.MustCompile(`helm\.sh/hook['"]?: *(.*)`)

// laterHook reports whether a document is a hook that Kalypso leaves out, since it does not run on installation or
// upgrade.
func laterHook(document string) bool {
	found := hookLine.FindStringSubmatch(document)
	return found != nil && !strings.Contains(found[1], "install") && !strings.Contains(found[1], "upgrade")
}

// digestLine matches a checksum; its text is that of values that are made up.
var digestLine = regexp.MustCompile(`(?m)^(\s+[^\s:]+: ['"]?)[0-9a-f]{32,128}(['"]?)$`)

// documents returns the documents of manifests without those that are made up, and without checksums if any is.
func documents(text string, all []made) []string {
	var kept []string
	for part := range strings.SplitSeq("\n"+text, "\n---\n") {
		part = strings.TrimSpace(part)
		source, body, _ := strings.Cut(part, "\n")
		template, isSource := strings.CutPrefix(source, "# Source: ")
		if part == "" || isSource && strings.TrimSpace(body) == "" {
			continue
		}
		if slices.ContainsFunc(all, func(m made) bool {
			return m.From != "" && m.From != "checksum" && m.Template == template && m.isIn(body)
		}) {
			continue
		}
		if len(all) > 0 {
			part = digestLine.ReplaceAllString(part, "${1}checksum${2}")
		}
		kept = append(kept, part)
	}
	return kept
}

// madeKinds are the kinds of objects that take the place of a Secret.
var madeKinds = []string{"ExternalSecret", "Password", "UUID", "Issuer", "Certificate"}

// jobLabel is a label of the objects of the Job that makes Secrets.
const jobLabel = "app.kubernetes.io/component: secrets"

// isIn reports whether a document is the object, or takes its place.
func (m made) isIn(document string) bool {
	is := func(kind string) bool { return strings.Contains("\n"+document, "\nkind: "+kind) }
	return is(m.Object.Kind) && strings.Contains(document, m.Object.Name) ||
		slices.ContainsFunc(madeKinds, is) || strings.Contains(document, jobLabel)
}
