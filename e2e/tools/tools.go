// Package tools builds the programs that a fleet is made of, from their sources in the Go module proxy.
//
//	cluster/  etcd, kube-apiserver, kube-controller-manager
//	flux/     source-controller, kustomize-controller
//	gitea/    gitea
//	argocd/   argocd: application-controller and repo-server in one program, of which main.go is ours
//	helm/     helm
//	kwok/     kwok, which plays the nodes of a cluster
//	fleet/    Rancher Fleet's fleetcontroller, fleetagent and fleetcli
//
// Each folder is a Go module whose go.mod and go.sum pin what is built. They are several, since the programs want different
// versions of the same libraries and replace some of them. A program is built once: it is kept in the user's cache folder,
// under a name that says what it was built from, and built again when that changes.
package tools

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Programs are the paths of what was built, and of files of their sources that are needed to run them.
type Programs struct {
	Etcd, APIServer, ControllerManager    string
	SourceController, KustomizeController string
	Gitea                                 string
	Kwok                                  string
	ArgoCD                                string
	FleetController, FleetAgent, FleetCLI string
	Helm                                  string
	// GiteaFiles is the folder with the templates and texts that Gitea reads at run time.
	GiteaFiles string
	// FluxDefinitions, ArgoCDDefinitions and FleetDefinitions are the files with custom resource definitions, as patterns.
	FluxDefinitions                     []string
	ArgoCDDefinitions, FleetDefinitions string
	// ArgoCDVerifier is a script that repo-server runs.
	ArgoCDVerifier string
}

// Build builds what is not there yet, which takes about twenty minutes on two cores when nothing is.
// dir is the folder of this package. say is told what takes long.
func Build(ctx context.Context, dir string, say func(string)) (*Programs, error) {
	cache, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	built := &Programs{}
	for _, r := range recipes(built) {
		if *r.path, err = r.build(ctx, dir, cache, say); err != nil {
			return nil, err
		}
	}
	return built, built.findFiles(ctx, dir)
}

// findFiles downloads the sources again when only the built programs were kept.
func (p *Programs) findFiles(ctx context.Context, dir string) error {
	source, err := download(ctx, filepath.Join(dir, "gitea"), "code.gitea.io/gitea")
	if err != nil {
		return err
	}
	p.GiteaFiles = source.Dir
	for _, controller := range []string{"source-controller", "kustomize-controller"} {
		source, err := download(ctx, filepath.Join(dir, "flux"), "github.com/fluxcd/"+controller)
		if err != nil {
			return err
		}
		p.FluxDefinitions = append(p.FluxDefinitions, filepath.Join(source.Dir, "config", "crd", "bases", "*.yaml"))
	}
	source, err = download(ctx, filepath.Join(dir, "argocd"), "github.com/argoproj/argo-cd/v3")
	p.ArgoCDDefinitions = filepath.Join(source.Dir, "manifests", "crds", "*-crd.yaml")
	p.ArgoCDVerifier = filepath.Join(source.Dir, "hack", "git-verify-wrapper.sh")
	if err != nil {
		return err
	}
	source, err = download(ctx, filepath.Join(dir, "fleet"), "github.com/rancher/fleet")
	p.FleetDefinitions = filepath.Join(source.Dir, "charts", "fleet-crd", "templates", "crds.yaml")
	return err
}

func cacheFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder to keep programs in: %w", err)
	}
	return filepath.Join(cache, "kalypso-e2e"), nil
}

// recipe is how one program is built.
type recipe struct {
	path   *string // where its path goes
	module string  // the folder of the module that pins it
	pkg    string  // required
	tags   string
	// versionOf is the module whose version the program reports, in the variables of stamps.
	// Without them it calls itself unreleased, which breaks programs that parse its version.
	versionOf string
	stamps    []stamp
	// shared means that it is compiled as Kalypso is, without cgo, and mostly from packages that Kalypso has, too.
	shared bool
}

// stamp is a variable that is set when a program is linked, and what it says about a version.
type stamp struct {
	variable string
	say      func(version string) string
}

func recipes(p *Programs) []recipe {
	const component = "k8s.io/component-base/version."
	kubernetes := []stamp{
		{component + "gitVersion", func(v string) string { return v }},
		{component + "gitMajor", func(v string) string { return strings.Split(v[1:], ".")[0] }},
		{component + "gitMinor", func(v string) string { return strings.Split(v[1:], ".")[1] }},
	}
	argocd := []stamp{{"github.com/argoproj/argo-cd/v3/common.version", func(v string) string { return v[1:] }}}
	gitea := []stamp{{"main.Version", func(v string) string { return v[1:] }}}
	return []recipe{
		{path: &p.Etcd, module: "cluster", pkg: "go.etcd.io/etcd/server/v3"},
		{path: &p.APIServer, module: "cluster", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", versionOf: "k8s.io/kubernetes", stamps: kubernetes},
		{path: &p.ControllerManager, module: "cluster", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", versionOf: "k8s.io/kubernetes", stamps: kubernetes},
		{path: &p.SourceController, module: "flux", pkg: "github.com/fluxcd/source-controller"},
		{path: &p.KustomizeController, module: "flux", pkg: "github.com/fluxcd/kustomize-controller"},
		{path: &p.Gitea, module: "gitea", pkg: "code.gitea.io/gitea", tags: "sqlite,sqlite_unlock_notify", versionOf: "code.gitea.io/gitea", stamps: gitea},
		{path: &p.ArgoCD, module: "argocd", pkg: "github.com/kalypso-io/kalypso/e2e/tools/argocd", versionOf: "github.com/argoproj/argo-cd/v3", stamps: argocd},
		{path: &p.Kwok, module: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok"},
		{path: &p.FleetController, module: "fleet", pkg: "github.com/rancher/fleet/cmd/fleetcontroller"},
		{path: &p.FleetAgent, module: "fleet", pkg: "github.com/rancher/fleet/cmd/fleetagent"},
		{path: &p.FleetCLI, module: "fleet", pkg: "github.com/rancher/fleet/cmd/fleetcli"},
		helm(&p.Helm),
	}
}

// helm is the recipe of helm. Its module has the versions of Kalypso's: after an update of these, update them there, too.
func helm(path *string) recipe {
	return recipe{path: path, module: "helm", pkg: "helm.sh/helm/v4/cmd/helm", shared: true}
}

// name is what the program is called: the last part of its package that is no version.
func (r recipe) name() string {
	return filepath.Base(strings.TrimSuffix(r.pkg, "/server/v3"))
}

// key names what a program is built from.
func (r recipe) key(dir string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, r.pkg, r.tags, r.versionOf, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	// A module that is only a list of what others have has no Go files.
	ours, err := filepath.Glob(filepath.Join(dir, r.module, "*.go"))
	if err != nil {
		return "", err
	}
	for _, path := range append([]string{filepath.Join(dir, r.module, "go.mod"), filepath.Join(dir, r.module, "go.sum")}, ours...) {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read what %s is built from: %w", r.name(), err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(path), len(content), content)
	}
	return r.name() + "-" + hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// build returns the path of the program, and builds it when it is not there.
func (r recipe) build(ctx context.Context, dir, cache string, say func(string)) (string, error) {
	key, err := r.key(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, key, r.name())
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	say("building " + r.name())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// Readers find the whole program or none.
	half := path + "." + rand.Text()
	if err := r.compile(ctx, filepath.Join(dir, r.module), half); err != nil {
		_ = os.Remove(half) // the error that matters is the compiler's
		return "", err
	}
	return path, os.Rename(half, path)
}

func (r recipe) compile(ctx context.Context, module, out string) error {
	link := []string{"-s", "-w"}
	if r.versionOf != "" {
		source, err := download(ctx, module, r.versionOf)
		if err != nil {
			return err
		}
		for _, s := range r.stamps {
			link = append(link, "-X", s.variable+"="+s.say(source.Version))
		}
	}
	args := []string{"build", "-trimpath", "-tags", r.tags, "-ldflags", strings.Join(link, " "), "-o", out}
	if !r.shared {
		args = append(args, "-gcflags=all=-dwarf=false") // a sixth less to compile
	}
	_, err := run(ctx, module, !r.shared, append(args, r.pkg)...)
	return err
}
