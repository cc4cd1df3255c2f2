package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// attack is a hostile input.
type attack struct {
	name string
	// send gives it to the server, waits until it was processed, and returns what the server says.
	send func(w *world) (string, error)
}

// attacks returns all of them.
func attacks() []attack {
	return slices.Concat(packAttacks(), pushAttacks(), treeAttacks(), yamlAttacks(), formulaAttacks(), ruleAttacks(), chartAttacks(), templateAttacks(), bodyAttacks())
}

// branchName returns the name of a branch for an attack.
func branchName(name string) string {
	return "hostile-" + strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-")
}

// planned is an attack by a branch that is not merged, which anybody who may read can plan.
func planned(name, base string, files func(w *world) map[string]string) attack {
	return attack{name, func(w *world) (string, error) {
		if err := w.branch(branchName(name), base, files(w)); err != nil {
			if strings.Contains(err.Error(), "remote rejected") {
				return "refused: " + err.Error(), nil
			}
			return "", err
		}
		into := ""
		if base != "main" {
			into = base
		}
		return w.plan(branchName(name), into)
	}}
}

// registration registers a repository with a workload.
func registration(repository string) map[string]string {
	return map[string]string{"workloads/hostile.yaml": fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: hostile, labels: {type: application}}
spec:
  workload: {repo: %q, branch: main, path: .}
  workspace: hostile-team
`, repository)}
}

func packAttacks() (all []attack) {
	packs := hostilePacks()
	for _, name := range slices.Sorted(maps.Keys(packs)) {
		content := packs[name]
		at := branchName(name)
		all = append(all, planned("pack: "+name, "main", func(w *world) map[string]string {
			return registration(w.packs.serve(at, func(to http.ResponseWriter) {
				if content != nil {
					_, _ = to.Write(content)
					return
				}
				for { // slowly enough to be a pack for a while, and fast enough to be one
					if _, err := to.Write(bytes.Repeat([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), 1000)); err != nil {
						return
					}
				}
			}))
		}))
	}
	return all
}

// pushAttacks push packs to the embedded forge, as operators can.
func pushAttacks() (all []attack) {
	packs := hostilePacks()
	for _, name := range slices.Sorted(maps.Keys(packs)) {
		content := packs[name]
		if content == nil {
			continue
		}
		all = append(all, attack{"push: " + name, func(w *world) (string, error) {
			remote, err := w.git(w.clonePath(), "remote", "get-url", "origin")
			if err != nil {
				return "", err
			}
			command := strings.Repeat("0", 40) + " " + strings.Repeat("12", 20) + " refs/heads/hostile\x00report-status\n"
			body := append([]byte(line(command)+"0000"), content...)
			request, err := http.NewRequest(http.MethodPost, remote+"/git-receive-pack", bytes.NewReader(body))
			if err != nil {
				return "", err
			}
			u, err := url.Parse(remote)
			if err != nil {
				return "", err
			}
			password, _ := u.User.Password()
			request.SetBasicAuth(u.User.Username(), password)
			request.Header.Set("Content-Type", "application/x-git-receive-pack-request")
			status, text, err := w.do(request)
			if strings.Contains(text, "ok refs/heads/hostile") {
				return "", errors.New("it was accepted")
			}
			return fmt.Sprint(status, " ", text), err
		}})
	}
	return all
}

// treeAttacks are trees that have each other many times.
func treeAttacks() (all []attack) {
	for name, leaf := range map[string]string{"files": "100644 f", "empty folders": ""} {
		all = append(all, attack{"tree: 10^20 " + name, func(w *world) (string, error) {
			dir := w.clonePath()
			blob, err := w.gitWith(dir, []byte("a: b\n"), "hash-object", "-w", "--stdin")
			if err != nil {
				return "", err
			}
			content, times := "", 10
			if leaf != "" {
				hash, _ := hex.DecodeString(blob)
				content = leaf + "\x00" + string(hash)
			}
			for range 20 {
				id, err := w.gitWith(dir, []byte(content), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
				if err != nil {
					return "", err
				}
				hash, _ := hex.DecodeString(id)
				content = ""
				for i := range times {
					content += fmt.Sprintf("40000 f%03d\x00%s", i, hash)
				}
			}
			id, err := w.gitWith(dir, []byte(content), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
			if err != nil {
				return "", err
			}
			commit, err := w.git(dir, "commit-tree", "-m", "hostile", "-p", "origin/main", id)
			if err != nil {
				return "", err
			}
			branch := branchName(name)
			if _, err = w.git(dir, "push", "-q", "--force", "origin", commit+":refs/heads/"+branch); err != nil {
				return "refused: " + err.Error(), nil
			}
			return w.plan(branch, "")
		}})
	}
	return all
}

// workloads is a file of many small objects, of some megabytes.
func workloads(objects int) string {
	var b strings.Builder
	for i := range objects {
		fmt.Fprintf(&b, "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: w%d}\nspec: {deploymentTargets: [{name: t, environment: dev, manifests: {repo: https://example.com/x}}]}\n---\n", i)
	}
	return b.String()
}

func yamlAttacks() []attack {
	aliases := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'm'; c++ {
		aliases += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
	}
	file := func(content string) func(*world) map[string]string {
		return func(*world) map[string]string { return map[string]string{"configs/hostile.yaml": content} }
	}
	many := func(content string, times int, folder string) func(*world) map[string]string {
		return func(*world) map[string]string {
			files := map[string]string{}
			for i := range times {
				files[fmt.Sprintf("%s/hostile-%04d.yaml", folder, i)] = content
			}
			return files
		}
	}
	return []attack{
		planned("yaml: aliases of aliases", "dev", file(aliases)),
		planned("yaml: nested lists", "dev", file("a: "+strings.Repeat("[", 2_000_000))),
		planned("yaml: nested maps", "dev", file(strings.Repeat("{a: ", 1_000_000))),
		planned("yaml: a list of 2 million", "dev", file("a: ["+strings.Repeat("1,", 2_000_000)+"1]")),
		planned("yaml: a key for each line", "dev", func(*world) map[string]string {
			var b strings.Builder
			for i := range 400_000 {
				fmt.Fprintf(&b, "k%d: 1\n", i)
			}
			return map[string]string{"configs/hostile.yaml": "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x, labels: {platform-config: \"true\"}}\ndata:\n" +
				strings.ReplaceAll("\n"+b.String(), "\n", "\n  ")}
		}),
		planned("yaml: one document of 4.9 MB", "dev", file("a: |\n"+strings.Repeat("  "+strings.Repeat("x", 97)+"\n", 49_000))),
		planned("yaml: 500 files, each 2 MB", "main", many(workloads(10_000), 500, "workloads")),
		planned("yaml: 9,000 documents, 100 files", "main", many(strings.Repeat("a: 1\n---\n", 9_000), 100, "workloads")),
		planned("yaml: 200,000 small files", "dev", many("a: 1\n", 200_000, "configs")),
	}
}

// thousand is a list of a thousand numbers.
var thousand = "[" + strings.Repeat("0,", 999) + "0]"

// expressions are formulas whose values would have gigabytes, or take hours.
var expressions = map[string]string{
	"a flattened list":     "string(lists.range(80000).map(a, " + thousand + ").flatten().size())",
	"nested ranges":        "string(lists.range(1000).map(a, lists.range(1000).map(b, lists.range(1000).size())).size())",
	"a doubled list":       "string(" + thousand + strings.Repeat(".map(x, x + x)", 5) + ".size())",
	"replace of replace":   `"` + strings.Repeat("a", 500) + `"` + strings.Repeat(`.replace("a", "`+strings.Repeat("a", 500)+`")`, 4),
	"join":                 `lists.range(20000).map(a, "` + strings.Repeat("a", 3000) + `").join(",")`,
	"format":               `"` + strings.Repeat("%s", 500) + `".format(lists.range(500).map(a, "` + strings.Repeat("a", 2000) + `"))`,
	"a regular expression": `"` + strings.Repeat("a", 3000) + `".matches("(a|aa|a?){1,100}b") ? "1" : "2"`,
	"distinct":             "string(lists.range(100000).distinct().size())",
	"sets":                 "string(sets.contains(lists.range(30000), lists.range(30000)))",
	"deep":                 strings.Repeat("(", 1500) + "1" + strings.Repeat(")", 1500),
}

func formulaAttacks() (all []attack) {
	for _, name := range slices.Sorted(maps.Keys(expressions)) {
		expression := expressions[name]
		all = append(all, planned("formula: "+name, "dev", func(*world) map[string]string {
			text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hostile\n  labels: {platform-config: \"true\"}\n  annotations: {kalypso.io/values: expressions}\ndata:\n"
			for i := range 20 { // one is within the limits, twenty of them are not
				text += fmt.Sprintf("  HOSTILE_%d: |\n    %s\n", i, expression)
			}
			return map[string]string{"configs/hostile.yaml": text}
		}))
	}
	return all
}

func ruleAttacks() (all []attack) {
	for _, name := range slices.Sorted(maps.Keys(expressions)) {
		expression := expressions[name]
		all = append(all, planned("rule: "+name, "main", func(*world) map[string]string {
			text := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: CheckPolicy\nmetadata: {name: hostile}\nspec:\n  rules:\n"
			for i := range 20 {
				text += fmt.Sprintf("  - name: hostile-%d\n    expression: |\n      string(%s) == \"1\"\n    message: hostile\n", i, expression)
			}
			return map[string]string{"checks/hostile.yaml": text}
		}))
	}
	return all
}

// charts are templates of charts that would take all memory, or never end.
var charts = map[string]string{
	"doubled text":           `{{ $a := "aaaaaaaaaaaaaaaa" }}{{ range until 60 }}{{ $a = print $a $a }}{{ end }}{{ len $a }}`,
	"a growing list":         `{{ $l := list }}{{ range until 100000 }}{{ $l = append $l "aaaaaaaaaaaaaaaaaaaaaaaa" }}{{ end }}{{ len $l }}`,
	"concat of concat":       `{{ $l := until 1000 }}{{ range until 40 }}{{ $l = concat $l $l }}{{ end }}{{ len $l }}`,
	"JSON of doubled lists":  `{{ $l := list 1 2 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l | len }}`,
	"YAML of doubled lists":  `{{ $l := list 1 2 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ toYaml $l | len }}`,
	"a printed doubled list": `{{ $l := list 1 2 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ printf "%v" $l | len }}`,
	"sortAlpha again":        `{{ $l := until 100000 }}{{ range until 100000 }}{{ $x := sortAlpha $l }}{{ end }}`,
	"sha256sum again":        `{{ $a := repeat 1000000 "a" }}{{ range until 100000 }}{{ $x := sha256sum $a }}{{ end }}`,
	"derivePassword":         `{{ range until 100000 }}{{ derivePassword 1 "long" "a" "b" "c" }}{{ end }}`,
	"nested loops":           `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`,
	"itself":                 `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`,
	"tpl of tpl":             `{{ range until 100000 }}{{ tpl "{{ range until 100000 }}{{ end }}" $ }}{{ end }}`,
	"replace":                `{{ $a := repeat 1000 "a" }}{{ range until 6 }}{{ $a = replace "a" $a $a }}{{ end }}{{ len $a }}`,
	"regular expressions":    `{{ $a := repeat 100000 "a" }}{{ range until 10000 }}{{ regexReplaceAll "(a|aa)+b" $a "c" | len }}{{ end }}`,
	"base64 of base64":       `{{ $a := "aaaa" }}{{ range until 100 }}{{ $a = b64enc $a }}{{ end }}{{ len $a }}`,
	"deepCopy":               `{{ $l := until 100000 }}{{ range until 10000 }}{{ $x := deepCopy $l }}{{ end }}`,
	"uniq":                   `{{ $l := until 100000 }}{{ uniq $l | len }}`,
	"without and has":        `{{ $l := until 100000 }}{{ range $l }}{{ if has . $l }}{{ end }}{{ end }}`,
	"join":                   `{{ $l := until 100000 }}{{ $a := repeat 1000000 "a" }}{{ join $a $l | len }}`,
	"fromYaml":               `{{ $a := repeat 100000 "- a\n" }}{{ range until 10000 }}{{ $x := fromYamlArray $a }}{{ end }}`,
}

func chartAttacks() (all []attack) {
	for _, name := range slices.Sorted(maps.Keys(charts)) {
		text := charts[name]
		all = append(all, planned("chart: "+name, "main", func(*world) map[string]string {
			return map[string]string{
				"templates/default.yaml":          "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: default}\nspec: {type: namespace, chart: charts/hostile}\n",
				"charts/hostile/Chart.yaml":       "apiVersion: v2\nname: hostile\nversion: 0.1.0\n",
				"charts/hostile/templates/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  x: |\n    " + text + "\n",
			}
		}))
	}
	return all
}

func templateAttacks() (all []attack) {
	for _, name := range slices.Sorted(maps.Keys(charts)) {
		text := strings.NewReplacer("include", "template", "toJson", "toYaml", "fromYamlArray", "fromYaml").Replace(charts[name])
		all = append(all, planned("template: "+name, "main", func(*world) map[string]string {
			return map[string]string{"templates/default.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: default}\nspec:\n  type: namespace\n  manifests:\n  - |\n" +
				"    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: x}\n    data:\n      x: |\n        " + text + "\n"}
		}))
	}
	return all
}

// bodyAttacks send what nobody checked yet.
func bodyAttacks() (all []attack) {
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	_, _ = io.Copy(z, io.LimitReader(zero{}, 1<<30))
	_ = z.Close()
	bodies := map[string]func() io.Reader{
		"80 MB":                    func() io.Reader { return io.LimitReader(zero{}, 80<<20) },
		"a gzip of 1 GB":           func() io.Reader { return bytes.NewReader(bomb.Bytes()) },
		"2 million levels of JSON": func() io.Reader { return strings.NewReader(strings.Repeat("[", 2_000_000)) },
		"JSON of a million keys": func() io.Reader {
			return strings.NewReader(`{"a":[` + strings.Repeat(`{"a":1},`, 1_000_000) + `1]}`)
		},
		"200,000 parts of a form": func() io.Reader {
			return strings.NewReader(strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n", 200_000) + "--b--\r\n")
		},
	}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		all = append(all, attack{"body: " + name, func(w *world) (string, error) {
			token, err := os.ReadFile(filepath.Join(w.sample(), "data", "admin-token"))
			if err != nil {
				return "", err
			}
			said := map[string]bool{}
			for _, path := range []string{
				"/api/v1/reports", "/api/v1/clusters", "/api/v1/ledger/import", "/webhooks/local", "/-/sign-in", "/api/v1/mcp", "/platform/control-plane/git-upload-pack",
			} {
				for range 4 {
					request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+w.address+path, bodies[name]())
					if err != nil {
						return "", err
					}
					request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
					request.Header.Set("Content-Type", "application/json")
					if strings.Contains(name, "gzip") {
						request.Header.Set("Content-Encoding", "gzip")
					}
					if strings.Contains(name, "form") {
						request.Header.Set("Content-Type", "multipart/form-data; boundary=b")
					}
					// A refusal may come before all of the body was sent.
					if status, _, err := w.do(request); err != nil {
						said["closed"] = true
					} else {
						said[fmt.Sprint(status)] = true
					}
				}
			}
			return strings.Join(slices.Sorted(maps.Keys(said)), " "), nil
		}})
	}
	return all
}
