package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	stdlog "log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// tool is a project with a program that says its version, in a repository of its own.
var tool = Project{
	Source: "https://git.example/tool", Licenses: "Apache-2.0", Chart: "charts/tool", Title: "Tool", LicenseFiles: []string{"LICENSE"},
	Programs: []Program{{Name: "tool", Package: "./cmd/tool", About: "A tool", Plugin: "kubectl-tool", Image: true, Platforms: slices.Concat(servers, edge, desktop)}},
}

func newProject(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                  "module git.example/tool\n\ngo 1.26.0\n",
		"cmd/tool/main.go":        "package main\n\nimport (\n\t\"fmt\"\n\t\"runtime/debug\"\n)\n\nfunc main() {\n\tinfo, _ := debug.ReadBuildInfo()\n\tfmt.Println(\"tool\", info.Main.Version)\n}\n",
		"LICENSE":                 "a license\n",
		"README.md":               "# Tool\n\n[Documents](docs/README.md), [a license](LICENSE)\n",
		"docs/README.md":          "# Documents\n",
		"charts/tool/Chart.yaml":  "apiVersion: v2\nname: tool\nversion: \"0.0.0\"\nappVersion: \"v0.0.0\"\n",
		"charts/tool/values.yaml": "{}\n",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "add", ".")
	git(t, root, "-c", "user.name=Kalypso", "-c", "user.email=kalypso@example.com", "commit", "-q", "-m", "a tool")
	git(t, root, "tag", "v1.2.3")
	return root
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-05-04T12:00:00Z", "GIT_COMMITTER_DATE=2026-05-04T12:00:00Z", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func newKey(t *testing.T) (key *signingKey, publicFile string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err = readKey(name); err != nil {
		t.Fatal(err)
	}
	public, err := key.GetPublicKeyPem()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".pub", []byte(public), 0o600); err != nil {
		t.Fatal(err)
	}
	return key, name + ".pub"
}

// built builds a release of the tool.
func built(t *testing.T, root string, key *signingKey) string {
	t.Helper()
	r := &release{Project: tool, root: root, out: filepath.Join(t.TempDir(), "dist"), platforms: tool.Programs[0].Platforms, key: key, log: io.Discard}
	out := r.out
	if err := r.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := readFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		all[e.name] = string(e.content)
	}
	return all
}

// TestSameCommitSameBytes builds a release in two clones, and compares all files.
func TestSameCommitSameBytes(t *testing.T) {
	root := newProject(t)
	key, public := newKey(t)
	first := built(t, root, key)
	clone := filepath.Join(t.TempDir(), "elsewhere")
	git(t, root, "clone", "-q", root, clone)
	one, two := contents(t, first), contents(t, built(t, clone, key))
	names := slices.Sorted(maps.Keys(one))
	want := []string{
		"checksums.txt", "provenance.json", "provenance.sigstore.json", "tool-chart_v1.2.3.tgz", "tool-docs_v1.2.3.tar.gz", "tool-image_v1.2.3.tar",
		"tool_v1.2.3_darwin_amd64.cdx.json", "tool_v1.2.3_darwin_amd64.tar.gz", "tool_v1.2.3_darwin_arm64.cdx.json", "tool_v1.2.3_darwin_arm64.tar.gz",
		"tool_v1.2.3_linux_amd64.cdx.json", "tool_v1.2.3_linux_amd64.tar.gz", "tool_v1.2.3_linux_arm64.cdx.json", "tool_v1.2.3_linux_arm64.tar.gz",
		"tool_v1.2.3_linux_armv7.cdx.json", "tool_v1.2.3_linux_armv7.tar.gz", "tool_v1.2.3_windows_amd64.cdx.json", "tool_v1.2.3_windows_amd64.zip",
	}
	if !slices.Equal(names, want) {
		t.Errorf("files %q", names)
	}
	for _, name := range names {
		if one[name] != two[name] {
			t.Errorf("%s differs", name)
		}
	}
	testArchives(t, one)
	testImage(t, one["tool-image_v1.2.3.tar"])
	testPush(t, first)
	testInstall(t, first)
	testVerify(t, first, public)
}

func testArchives(t *testing.T, files map[string]string) {
	t.Helper()
	chart := untar(t, files["tool-chart_v1.2.3.tgz"])
	if got := chart["tool/Chart.yaml"]; !strings.Contains(got, `version: "1.2.3"`) || !strings.Contains(got, `appVersion: "v1.2.3"`) {
		t.Errorf("chart: %s", got)
	}
	documents := untar(t, files["tool-docs_v1.2.3.tar.gz"])
	if first := documents["tool-docs_v1.2.3/index.html"]; !strings.Contains(first, `href="https://git.example/tool/blob/`) || !strings.Contains(first, "v1.2.3") {
		t.Errorf("documents: %s", first)
	}
	archive := untar(t, files["tool_v1.2.3_linux_amd64.tar.gz"])
	if archive["tool_v1.2.3_linux_amd64/kubectl-tool"] != "-> tool" || archive["tool_v1.2.3_linux_amd64/LICENSE"] != "a license\n" {
		t.Errorf("archive: %q", slices.Sorted(maps.Keys(archive)))
	}
	z, err := zip.NewReader(strings.NewReader(files["tool_v1.2.3_windows_amd64.zip"]), int64(len(files["tool_v1.2.3_windows_amd64.zip"])))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(archive["tool_v1.2.3_linux_amd64/THIRD_PARTY_LICENSES"], "Redistribution and use in source and binary forms") {
		t.Error("the archive lacks the license of Go")
	}
	if len(z.File) != 4 || z.File[1].Name != "tool_v1.2.3_windows_amd64/kubectl-tool.exe" {
		t.Errorf("zip: %d files", len(z.File))
	}
	var bill struct {
		Metadata struct {
			Component struct{ Name, Version string }
		}
		Components []struct {
			Purl     string
			Licenses []struct{ Expression string }
		}
	}
	if err := json.Unmarshal([]byte(files["tool_v1.2.3_linux_amd64.cdx.json"]), &bill); err != nil {
		t.Fatal(err)
	}
	if bill.Metadata.Component.Version != "v1.2.3" || len(bill.Components) != 1 || !strings.HasPrefix(bill.Components[0].Purl, "pkg:golang/stdlib@1.") ||
		len(bill.Components[0].Licenses) != 1 || bill.Components[0].Licenses[0].Expression != "BSD-3-Clause" {
		t.Errorf("bill: %+v", bill)
	}
}

// testImage reads the image as a registry's client would.
func testImage(t *testing.T, archive string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(file, []byte(archive), 0o600); err != nil {
		t.Fatal(err)
	}
	index, tag, err := openImage(file, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	if tag != "v1.2.3" {
		t.Errorf("tag %q", tag)
	}
	inner, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range inner.Manifests {
		platforms = append(platforms, m.Platform.String())
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64", "linux/arm/v7"}) {
		t.Errorf("platforms %q", platforms)
	}
	image, err := index.Image(inner.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/tool" || config.Config.Labels["org.opencontainers.image.version"] != "v1.2.3" {
		t.Errorf("config %+v", config.Config)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, l := range layers {
		content, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(found, untarPlain(t, content))
	}
	pool := x509.NewCertPool()
	if found["licenses/LICENSE"] != "a license\n" || found["licenses/THIRD_PARTY_LICENSES"] == "" {
		t.Errorf("the image has %q", slices.Sorted(maps.Keys(found)))
	}
	if found["tool"] == "" || !pool.AppendCertsFromPEM([]byte(found["etc/ssl/certs/ca-certificates.crt"])) {
		t.Errorf("the image has %q", slices.Sorted(maps.Keys(found)))
	}
}

// testPush pushes to a registry, twice, and then something else with the same names.
func testPush(t *testing.T, dist string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(stdlog.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	where := strings.TrimPrefix(server.URL, "http://") + "/acme"
	var said bytes.Buffer
	for range 2 {
		if err := push(t.Context(), dist, where, &said); err != nil {
			t.Fatal(err)
		}
	}
	if got := said.String(); strings.Count(got, "pushed "+where+"/tool:v1.2.3@sha256:") != 1 || strings.Count(got, "/charts/tool:1.2.3@sha256:") != 2 || strings.Count(got, "is there") != 2 {
		t.Errorf("said:\n%s", got)
	}
	ref, err := name.ParseReference(where + "/tool:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "arm64"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	other := t.TempDir()
	content, err := os.ReadFile(filepath.Join(dist, "tool-chart_v1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "tool-chart_v1.2.3.tgz"), append(content, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := push(t.Context(), other, where, io.Discard); err == nil || !strings.Contains(err.Error(), "releases are not replaced") {
		t.Errorf("another chart: %v", err)
	}
}

// testInstall runs the script by which users install a release, with a server in place of the forge.
func testInstall(t *testing.T, dist string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the tool is only built for this test's own platform on Linux")
	}
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "v1.2.3"), os.DirFS(dist)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	destination := filepath.Join(t.TempDir(), "bin")
	install := func(env ...string) string {
		cmd := exec.Command("../install")
		cmd.Env = append(os.Environ(), append([]string{"PROGRAM=tool", "RELEASES=" + server.URL, "DESTINATION=" + destination}, env...)...)
		out, _ := cmd.CombinedOutput() // what it printed says more
		return string(out)
	}
	for _, refused := range []struct{ env, want string }{
		{"", "set VERSION"},
		{"VERSION=v9", "does this release exist"},
		{"VERSION=v1.2.3 SHA256=0123", "and not 0123"},
	} {
		if got := install(strings.Fields(refused.env)...); !strings.Contains(got, refused.want) {
			t.Errorf("%s: %s", refused.env, got)
		}
	}
	if _, err := os.Stat(filepath.Join(destination, "tool")); err == nil {
		t.Fatal("what was refused is installed")
	}
	for range 2 {
		if got := install("VERSION=v1.2.3"); !strings.Contains(got, "installed tool v1.2.3 in "+destination) {
			t.Fatal(got)
		}
	}
	if link, err := os.Readlink(filepath.Join(destination, "kubectl-tool")); err != nil || link != "tool" {
		t.Errorf("the plugin leads to %q, %v", link, err)
	}
	archives, err := filepath.Glob(filepath.Join(folder, "v1.2.3", "*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range archives {
		if err := os.WriteFile(name, []byte("another program"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := install("VERSION=v1.2.3"); !strings.Contains(got, "is not the file that checksums.txt lists") {
		t.Errorf("a changed archive: %s", got)
	}
}

// TestTheComponentRunsTheInstaller: the component for GitLab cannot call a file of this repository, so it has the script.
func TestTheComponentRunsTheInstaller(t *testing.T) {
	script, err := os.ReadFile("../install")
	if err != nil {
		t.Fatal(err)
	}
	component, err := os.ReadFile("../../templates/kalypso.yml")
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for line := range strings.Lines(string(script)) {
		if line != "\n" {
			line = "    " + line
		}
		want += line
	}
	if !strings.Contains(string(component), "<<'INSTALL'\n"+want+"    INSTALL\n") {
		t.Error("templates/kalypso.yml has another script than tools/install")
	}
}

func testVerify(t *testing.T, dist, public string) {
	t.Helper()
	s, err := verifyRelease(dist, public)
	if err != nil || len(s.commit()) != 40 {
		t.Fatalf("%v, commit %q", err, s.commit())
	}
	_, other := newKey(t)
	if _, err := verifyRelease(dist, other); err == nil || !strings.Contains(err.Error(), "not signed with this key") {
		t.Errorf("another key: %v", err)
	}
	name := filepath.Join(dist, "tool_v1.2.3_linux_amd64.tar.gz")
	if err := os.WriteFile(name, []byte("another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dist, "extra.sh"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = verifyRelease(dist, public)
	if err == nil || !strings.Contains(err.Error(), "linux_amd64.tar.gz is not what was built") || !strings.Contains(err.Error(), "extra.sh is not part of the release") {
		t.Errorf("another file: %v", err)
	}
	if err := os.Remove(filepath.Join(dist, bundleFile)); err != nil {
		t.Fatal(err)
	}
	if _, err = verifyRelease(dist, public); err == nil || !strings.Contains(err.Error(), "is not signed") {
		t.Errorf("without a signature: %v", err)
	}
}

// TestRefuses: a release that could not be reproduced, or that would mix with the files of another one, is refused.
func TestRefuses(t *testing.T) {
	root := newProject(t)
	try := func(out string) error {
		r := &release{Project: tool, root: root, out: out, platforms: servers, log: io.Discard}
		return r.build(t.Context())
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := try(full); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a full folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := try(filepath.Join(t.TempDir(), "dist")); err == nil || !strings.Contains(err.Error(), "has changes") {
		t.Errorf("a changed work tree: %v", err)
	}
	git(t, root, "add", ".")
	if err := os.WriteFile(filepath.Join(root, "cmd", "tool", "main.go"), []byte("package nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, root, "-c", "user.name=Kalypso", "-c", "user.email=kalypso@example.com", "commit", "-q", "-a", "-m", "a mistake")
	parent := t.TempDir()
	if err := try(filepath.Join(parent, "dist")); err == nil {
		t.Error("what does not compile is released")
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for args, want := range map[string]string{
		"":                              "--out",
		"--out x extra":                 "not an argument",
		"--out x --platforms linux":     "not a platform",
		"--out x --key none":            "no such file",
		"verify --out x":                "--public-key",
		"verify --out x --public-key y": "no such file",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func untar(t *testing.T, archive string) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	return untarPlain(t, z)
}

// untarPlain returns the files of an archive, and "-> target" for links.
func untarPlain(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.ModTime.Year() != 2026 || header.Uid != 0 {
			t.Errorf("%s: %s, user %d", header.Name, header.ModTime, header.Uid)
		}
		var content bytes.Buffer
		if _, err := io.Copy(&content, r); err != nil {
			t.Fatal(err)
		}
		switch header.Typeflag {
		case tar.TypeSymlink:
			files[header.Name] = "-> " + header.Linkname
		case tar.TypeReg:
			files[header.Name] = content.String()
		}
	}
}
