package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-io/kalypso/internal/cli/backend"
)

// guideCommands are the script commands by which scripts follow the how-to guides.
type guideCommands struct {
	repositories func() (folder string, err error) // of [guideCommands.controlPlane]; they are made once

	mu   sync.Mutex
	open map[*testscript.TestScript]*guide
}

// guide is a how-to guide that a script follows.
type guide struct {
	name     string
	commands []step // not run yet
	examples []string
}

func newGuideCommands(t *testing.T) *guideCommands {
	return &guideCommands{open: map[*testscript.TestScript]*guide{}, repositories: sync.OnceValues(func() (string, error) {
		cmd := exec.Command("sh", "-e", "-c", makeRepositories)
		cmd.Dir, cmd.Env = t.TempDir(), storyEnvironment(t)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return cmd.Dir, err
	})}
}

func (c *guideCommands) guide(ts *testscript.TestScript) *guide {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.open[ts]
	if g == nil {
		ts.Fatalf("the script has opened no guide")
	}
	return g
}

// start opens a guide.
func (c *guideCommands) start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: guide NAME")
	}
	text, err := os.ReadFile(filepath.Join("../../docs/how-to", args[0]+".md"))
	ts.Check(err)
	g := &guide{name: args[0], commands: guideSteps(string(text))}
	for _, block := range guideExample.FindAllStringSubmatch(string(text), -1) {
		g.examples = append(g.examples, strings.ReplaceAll("\n"+block[2], "\n"+block[1], "\n")[1:])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[ts] = g
}

// example writes an example of the guide to a file.
func (c *guideCommands) example(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: example N[.DOCUMENT] FILE")
	}
	g := c.guide(ts)
	number, document, part := strings.Cut(args[0], ".")
	content := nth(ts, g.examples, number)
	if part {
		content = nth(ts, strings.Split(content, "---\n"), document)
	}
	file := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, []byte(content), 0o600))
}

// nth returns an element of a list that is counted from 1.
func nth(ts *testscript.TestScript, list []string, number string) string {
	n, err := strconv.Atoi(number)
	ts.Check(err)
	if n < 1 || n > len(list) {
		ts.Fatalf("there are %d, and no number %d", len(list), n)
	}
	return list[n-1]
}

// follow runs the next command of the guide. Its output is what the guide shows, if it shows one, and matches the pattern.
func (c *guideCommands) follow(ts *testscript.TestScript, neg bool, args []string) {
	if len(args)%2 != 1 {
		ts.Fatalf("usage: [!] follow PATTERN [OLD NEW...]")
	}
	g := c.guide(ts)
	if len(g.commands) == 0 {
		ts.Fatalf("the guide %s has no more commands", g.name)
	}
	next := g.commands[0]
	g.commands = g.commands[1:]
	for pair := range slices.Chunk(args[1:], 2) {
		if !strings.Contains(next.command, pair[0]) {
			ts.Fatalf("%q is not in the command: %s", pair[0], next.command)
		}
		next.command = strings.ReplaceAll(next.command, pair[0], pair[1])
	}
	ts.Logf("$ %s", next.command)
	err := ts.Exec("sh", "-e", "-c", next.command)
	out := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if failed := err != nil; failed != neg {
		ts.Fatalf("$ %s\n%s\nerror: %v", next.command, out, err)
	}
	if pattern := regexp.MustCompile("(?m)" + args[0]); !pattern.MatchString(out) {
		ts.Fatalf("$ %s\nprints nothing that matches %s:\n%s", next.command, pattern, out)
	}
	if next.output != "" && !printed(next.output).MatchString(normal(out)) {
		ts.Fatalf("$ %s\nprints\n%s\nand the guide says\n%s", next.command, out, next.output)
	}
}

// followed wants that all commands of the guide were run.
func (c *guideCommands) followed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: followed")
	}
	if g := c.guide(ts); len(g.commands) > 0 {
		ts.Fatalf("of the guide %s, this is not followed:\n%v", g.name, g.commands)
	}
}

// controlPlane makes what guides take for granted: a control plane with the example fleet and an environment prod, and its GitOps repository.
func (c *guideCommands) controlPlane(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: controlplane")
	}
	fixture, err := c.repositories()
	ts.Check(err)
	ts.Check(os.CopyFS(ts.MkAbs("."), os.DirFS(fixture)))
}

// makeRepositories makes the repositories in the current folder.
const makeRepositories = `kalypso init gitops gitops && kalypso init control-plane control-plane && cd control-plane
git config user.name Ann && git config user.email ann@example.com
sed -e s/stage/prod/ -e 's/\[dev\]/[stage]/' .environments/stage.yaml > .environments/prod.yaml
git add -A && git commit -q -m 'Add prod' && git checkout -q -b prod stage
sed s/stage/prod/ gitops-repo.yaml > ../changed && mv ../changed gitops-repo.yaml && git commit -q -a -m 'Add prod' && git checkout -q main`

// useToken lets commands use the token in a file.
func useToken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: token FILE")
	}
	ts.Setenv(backend.EnvToken, strings.TrimSpace(ts.ReadFile(args[0])))
}

var (
	guideExample = regexp.MustCompile("(?ms)^( *)```(?:yaml|json)\n(.*?)^ *```$")
	guideCell    = regexp.MustCompile("\\| *`([^`|]+)` *(?:\\||$)")
	ourProgram   = regexp.MustCompile(`^(?:kalypso|git|openssl) |\| kalypso `)
)

// guideSteps returns what a guide tells its reader to type: the commands in its blocks and in the cells of its tables that call Kalypso, Git or
// OpenSSL, in their order, with the output that the guide shows.
func guideSteps(text string) []step {
	var steps []step
	add := func(command string) {
		if ourProgram.MatchString(command) {
			steps = append(steps, step{command: command})
		}
	}
	fence, output := "", false
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
		}
		command, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence, output = line, false
		case fence != "" && line == "```":
			fence = ""
		case fence == "```console" && prompt:
			before := len(steps)
			add(command)
			output = len(steps) > before
		case fence == "```console" && output:
			steps[len(steps)-1].output += lines[i] + "\n"
		case fence == "```sh", fence == "" && strings.HasPrefix(lines[i], "    "):
			add(line)
		case fence == "" && strings.HasPrefix(line, "|"):
			for _, cell := range guideCell.FindAllStringSubmatch(line, -1) {
				add(cell[1])
			}
		}
	}
	return steps
}
