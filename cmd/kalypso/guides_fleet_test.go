package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
)

// guide is a how-to guide that is followed in a control plane: the example fleet as a Git repository, with dev checked out.
type guide struct {
	t         *testing.T
	text, dir string // dir is the control plane
	env       []string
	done      int // commands that ran
}

var (
	guideCommand = regexp.MustCompile(`(?m)^    (kalypso .*)$`)
	guideFile    = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

// followGuide reads a guide, and makes the folders that guides speak of: the control plane, and a copy of each of its branches.
func followGuide(t *testing.T, name string) *guide {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/how-to", name))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.CopyFS(root, hellofleet.Files()); err != nil {
		t.Fatal(err)
	}
	g := &guide{t: t, text: string(text), dir: filepath.Join(root, "control-plane"), env: storyEnvironment(t)}
	if err := os.Rename(g.dir, filepath.Join(root, "branches")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g.run(`git init -q -b main && git config user.name Ann && git config user.email ann@example.com
cp -R ../branches/main/. . && git add -A && git commit -q -m main && cp -R ../branches/main ../control-plane-main
git checkout -q --orphan dev && git rm -q -r -f . && cp -R ../branches/dev/. . && git add -A && git commit -q -m dev && cp -R ../branches/dev ../control-plane-dev
git commit -q --allow-empty -m "Nothing new"`)
	return g
}

// write writes a file, relative to the control plane.
func (g *guide) write(name, content string) {
	g.t.Helper()
	name = filepath.Join(g.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// file returns an example file of the guide, by its number.
func (g *guide) file(n int) string {
	g.t.Helper()
	all := guideFile.FindAllStringSubmatch(g.text, -1)
	if len(all) <= n {
		g.t.Fatalf("the guide has %d files", len(all))
	}
	return all[n][1]
}

func (g *guide) run(command string) string {
	g.t.Helper()
	shell := exec.Command("sh", "-e", "-c", command)
	shell.Dir, shell.Env = g.dir, g.env
	out, err := shell.CombinedOutput()
	if err != nil {
		g.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// commands runs the rest of the guide's commands, and wants a part of the output of each, in their order.
func (g *guide) commands(wants ...string) {
	g.t.Helper()
	g.next(wants...)
	if found := len(guideCommand.FindAllString(g.text, -1)); found != g.done {
		g.t.Fatalf("the guide has %d commands, and the test knows %d", found, g.done)
	}
}

// next runs the next commands of the guide.
func (g *guide) next(wants ...string) {
	g.t.Helper()
	for _, want := range wants {
		found := guideCommand.FindAllStringSubmatch(g.text, -1)
		if g.done == len(found) {
			g.t.Fatalf("the guide has %d commands only", g.done)
		}
		command := found[g.done][1]
		g.done++
		if out := g.run(command); !strings.Contains(out, want) {
			g.t.Errorf("$ %s\nprints no %q:\n%s", command, want, out)
		}
	}
}

func TestTheGuideForPlatformConfiguration(t *testing.T) {
	t.Parallel()
	g := followGuide(t, "platform-configuration.md")
	const file = "cluster-types/west-us/west-us-config.yaml"
	changed := strings.Replace(g.file(0), "west:8806", "west-2:8806", 1)
	g.write(file, changed)
	g.write("../control-plane-dev/"+file, strings.Replace(changed, "West US", "Far west", 1))
	g.run("git commit -q -a -m 'Move the database'")
	g.commands("DATABASE_URL = mysql://west-2:8806/db", "REGION = West US", "mysql://west:8806/db -> mysql://west-2:8806/db", "West US -> Far west")
}

func TestTheGuideForComputedValues(t *testing.T) {
	t.Parallel()
	g := followGuide(t, "computed-values.md")
	g.write("configs/derived.yaml", g.file(0))
	g.next("0 errors", "DATABASE_HOST = west", "DATABASE_HOST")

	g.run(`mkdir ../apps && cd ../apps && kalypso init app hello-world-app && kalypso init config hello-world-app-configs
for r in hello-world-app hello-world-app-configs; do git -C $r config user.name Ann; git -C $r config user.email ann@example.com; done
cd hello-world-app-configs && git checkout -q dev && mkdir de && git mv functional-test de/functional-test && echo 'replicas: 2' >> values.yaml`)
	g.write("../apps/hello-world-app-configs/de/values.cel.yaml", g.file(2))
	g.run(`git -C ../apps/hello-world-app-configs add -A && git -C ../apps/hello-world-app-configs commit -q -m 'Compute values'
cd ../apps/hello-world-app && sed -i 's/^spec:/spec:\n  config: {levels: [{name: country}]}/' workload/delivery.yaml && git commit -q -a -m 'Name the level'`)
	g.dir = filepath.Join(filepath.Dir(g.dir), "apps", "hello-world-app")
	g.commands("nothing found", "host = shop.de.example.com")
}

func TestTheGuideForWorkloads(t *testing.T) {
	t.Parallel()
	g := followGuide(t, "onboard-a-workload.md")
	registration := strings.Replace(g.file(1), "https://git.example.com/acme/shop", "../shop", 1)
	g.write("../shop/main/workload/workload.yaml", g.file(0))
	g.write("../control-plane-main/workloads/shop.yaml", registration)
	g.write("../control-plane-dev/scheduling/shop.yaml", g.file(2))
	g.write("scheduling/shop.yaml", g.file(2))
	g.run("git add -A && git commit -q -m policy && git switch -q main && cp ../control-plane-main/workloads/shop.yaml workloads/ && git add -A && git commit -q -m registration && git switch -q dev")
	g.commands("0 errors", "shop/load-test", "assigned by shop-load-test", "shop/load-test")
}
