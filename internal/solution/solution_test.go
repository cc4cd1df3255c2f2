package solution_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/solution"
)

func descriptor() solution.Descriptor {
	commit := func(digit string) string { return strings.Repeat(digit, 40) }
	return solution.Descriptor{
		Application: "shop", Environment: "dev", Release: "1.4.0", Image: "1.4.0", Merged: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Inputs: solution.Inputs{
			Source: solution.Input{Repository: "https://git.example.com/acme/shop", Branch: "main", Commit: commit("a")},
			Config: &solution.Input{Repository: "https://git.example.com/acme/shop-configs", Branch: "dev", Commit: commit("b")},
			GitOps: solution.Input{Repository: "https://git.example.com/acme/shop-gitops", Branch: "dev", Commit: commit("c")},
		},
		Targets:  []solution.Target{{Name: "east", Folder: "east", Objects: 1, Images: []string{"shop:1.4.0"}}, {Name: "west", Folder: "sites/west", Objects: 1}},
		Checks:   solution.Checks{Policy: solution.PolicyBuiltIn, Findings: []check.Finding{}},
		Renderer: solution.Renderer{Name: "kalypso", Version: "v1.2.3"},
	}
}

func files() []solution.File {
	return []solution.File{
		{Path: "sites/west/manifests.yaml", Content: []byte("kind: ConfigMap\nmetadata: {name: shop}\ndata: {replicas: \"2\"}\n")},
		{Path: "east/manifests.yaml", Content: []byte("kind: ConfigMap\nmetadata: {name: shop}\ndata: {replicas: \"1\"}\n")},
		{Path: ".kalypso/east/values.yaml", Content: []byte("replicas: 1 # values.yaml\nname: east # east/values.yaml\n")},
	}
}

func seal(t *testing.T, d solution.Descriptor, f []solution.File) *solution.Version {
	t.Helper()
	v, err := solution.Seal(d, f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func artifact(t *testing.T, v *solution.Version) *solution.Artifact {
	t.Helper()
	a, err := v.Artifact()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheSameInputsMakeTheSameVersion(t *testing.T) {
	one := seal(t, descriptor(), files())
	other := files()
	slices.Reverse(other)
	two := seal(t, descriptor(), other)
	if one.Digest() != two.Digest() || artifact(t, one).Manifest.Digest != artifact(t, two).Manifest.Digest {
		t.Error("the order of files matters")
	}
	other[0].Content = append(other[0].Content, '\n')
	if changed := seal(t, descriptor(), other); changed.Digest() == one.Digest() || changed.Targets[0].Digest != one.Targets[0].Digest && changed.Targets[1].Digest != one.Targets[1].Digest {
		t.Error("another file has to make another version, in which one target is another one")
	}
	// The format is a contract: this digest changes only with FormatVersion.
	if got, want := one.Digest(), "sha256:866bcbec8b5805b72a83eb041df1963849e750e39d9f663bbf1d4a155f48d4b1"; got != want {
		t.Errorf("the descriptor has the digest %s, want %s", got, want)
	}
}

func TestOpenReturnsWhatWasSealed(t *testing.T) {
	v := seal(t, descriptor(), files())
	a := artifact(t, v)
	got, err := solution.Open(a.Manifest.Content, a.Config.Content, a.Layer.Content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, got); diff != "" {
		t.Error(diff)
	}
	if len(solution.Compare(v, got)) > 0 || got.Digest() != v.Digest() {
		t.Error("it is another version")
	}
}

// TestManifest has what Flux and Argo CD look at.
func TestManifest(t *testing.T) {
	var m ocispec.Manifest
	if err := json.Unmarshal(artifact(t, seal(t, descriptor(), files())).Manifest.Content, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Layers) != 1 || m.Layers[0].MediaType != "application/vnd.oci.image.layer.v1.tar+gzip" || m.MediaType != "application/vnd.oci.image.manifest.v1+json" {
		t.Errorf("Argo CD and Flux do not read %+v", m)
	}
	want := map[string]string{
		"org.opencontainers.image.title": "shop for dev", "org.opencontainers.image.version": "1.4.0", "org.opencontainers.image.created": "2026-03-04T05:06:07Z",
		"org.opencontainers.image.source":   "https://git.example.com/acme/shop-gitops",
		"org.opencontainers.image.revision": "dev@sha1:cccccccccccccccccccccccccccccccccccccccc",
	}
	if diff := cmp.Diff(want, m.Annotations); diff != "" {
		t.Error(diff)
	}
}

// TestContentDigestByOtherPrograms runs the command in the documentation of [solution.ContentDigest].
func TestContentDigestByOtherPrograms(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip(err)
	}
	v := seal(t, descriptor(), files())
	folder := t.TempDir()
	for _, f := range v.Files {
		name := filepath.Join(folder, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("sh", "-c", `find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum`)
	command.Dir = folder
	out, err := command.Output()
	if err != nil {
		t.Skipf("this system has other programs: %v", err)
	}
	if got, _, _ := strings.Cut(string(out), " "); "sha256:"+got != v.Content.Digest {
		t.Errorf("sha256sum says %s, want %s", got, v.Content.Digest)
	}
}

func TestSealRefuses(t *testing.T) {
	for name, change := range map[string]func(d *solution.Descriptor, f *[]solution.File){
		"a path out of the folder":    func(_ *solution.Descriptor, f *[]solution.File) { (*f)[0].Path = "../x" },
		"an absolute path":            func(_ *solution.Descriptor, f *[]solution.File) { (*f)[0].Path = "/east/x" },
		"a path of another system":    func(_ *solution.Descriptor, f *[]solution.File) { (*f)[0].Path = `east\x` },
		"a file twice":                func(_ *solution.Descriptor, f *[]solution.File) { (*f)[0].Path = (*f)[1].Path },
		"a file in a file":            func(_ *solution.Descriptor, f *[]solution.File) { (*f)[0].Path = "east/manifests.yaml/x" },
		"a file of no target":         func(_ *solution.Descriptor, f *[]solution.File) { (*f)[0].Path = "north/manifests.yaml" },
		"a file at the root":          func(_ *solution.Descriptor, f *[]solution.File) { (*f)[0].Path = "manifests.yaml" },
		"no targets":                  func(d *solution.Descriptor, f *[]solution.File) { d.Targets, *f = nil, nil },
		"targets that are not sorted": func(d *solution.Descriptor, _ *[]solution.File) { slices.Reverse(d.Targets) },
		"a target in our own folder":  func(d *solution.Descriptor, _ *[]solution.File) { d.Targets[0].Folder = ".kalypso" },
		"an input without a commit":   func(d *solution.Descriptor, _ *[]solution.File) { d.Inputs.Source.Commit = "main" },
		"an input with a space":       func(d *solution.Descriptor, _ *[]solution.File) { d.Inputs.GitOps.Repository = "https://x\n" },
		"a name with a slash":         func(d *solution.Descriptor, _ *[]solution.File) { d.Application = "a/b" },
		"an unknown policy":           func(d *solution.Descriptor, _ *[]solution.File) { d.Checks.Policy = "" },
	} {
		t.Run(name, func(t *testing.T) {
			d, f := descriptor(), files()
			change(&d, &f)
			if _, err := solution.Seal(d, f); err == nil {
				t.Error("it was sealed")
			}
		})
	}
}

// layer packs entries as they are.
func layer(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tape := tar.NewWriter(zipped)
	for _, h := range headers {
		if err := tape.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tape.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if tape.Close() != nil || zipped.Close() != nil {
		t.Fatal("cannot pack")
	}
	return out.Bytes()
}

func compressed(t *testing.T, tape []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	if _, err := zipped.Write(tape); err != nil || zipped.Close() != nil {
		t.Fatal("cannot compress")
	}
	return out.Bytes()
}

// withParts returns the manifest of an artifact with other parts.
func withParts(t *testing.T, a *solution.Artifact, config, layer []byte) []byte {
	t.Helper()
	var m ocispec.Manifest
	if err := json.Unmarshal(a.Manifest.Content, &m); err != nil {
		t.Fatal(err)
	}
	m.Config.Digest, m.Config.Size = digest.FromBytes(config), int64(len(config))
	m.Layers[0].Digest, m.Layers[0].Size = digest.FromBytes(layer), int64(len(layer))
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOpenRefusesHostileLayers(t *testing.T) {
	v := seal(t, descriptor(), files())
	a := artifact(t, v)
	long := make([]tar.Header, solution.MaxFiles+1)
	for i := range long {
		long[i] = tar.Header{Typeflag: tar.TypeDir, Name: "east/"}
	}
	good := layer(t, tar.Header{Typeflag: tar.TypeReg, Name: "east/manifests.yaml", Size: 3})
	for name, tc := range map[string]struct {
		layer []byte
		want  string
	}{
		"a link":                {layer(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "east/x", Linkname: "/etc/passwd"}), "neither a file nor a folder"},
		"a hard link":           {layer(t, tar.Header{Typeflag: tar.TypeLink, Name: "east/x", Linkname: "east/y"}), "neither a file nor a folder"},
		"a device":              {layer(t, tar.Header{Typeflag: tar.TypeChar, Name: "east/x"}), "neither a file nor a folder"},
		"a path out of it":      {layer(t, tar.Header{Typeflag: tar.TypeReg, Name: "east/../../x", Size: 1}), "not the path of a file"},
		"an absolute folder":    {layer(t, tar.Header{Typeflag: tar.TypeDir, Name: "/etc/"}), "not the path of a file"},
		"a file twice":          {layer(t, tar.Header{Typeflag: tar.TypeReg, Name: "east/x", Size: 1}, tar.Header{Typeflag: tar.TypeReg, Name: "east/x", Size: 1}), "twice"},
		"too many folders":      {layer(t, long...), "more than 50000 files"},
		"no compressed file":    {[]byte("kind: ConfigMap"), "decompress"},
		"other files":           {good, "the content has the digest"},
		"something behind it":   {append(bytes.Clone(a.Layer.Content), "more"...), "something behind the tar file"},
		"a second member":       {append(bytes.Clone(a.Layer.Content), good...), "something behind the tar file"},
		"a layer that was cut":  {a.Layer.Content[:len(a.Layer.Content)/2], "unexpected EOF"},
		"a file of no target":   {layer(t, tar.Header{Typeflag: tar.TypeReg, Name: "north/x", Size: 1}), "belongs to no target"},
		"an unreadable archive": {layer(t), "the content has the digest"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := solution.Open(withParts(t, a, a.Config.Content, tc.layer), a.Config.Content, tc.layer)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestOpenStopsAtABomb: what the headers announce is enough to refuse it, so nothing of it is unpacked.
func TestOpenStopsAtABomb(t *testing.T) {
	a := artifact(t, seal(t, descriptor(), files()))
	var tape bytes.Buffer
	if err := tar.NewWriter(&tape).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "east/x", Size: solution.MaxContent + 1}); err != nil {
		t.Fatal(err)
	}
	content := compressed(t, tape.Bytes())
	_, err := solution.Open(withParts(t, a, a.Config.Content, content), a.Config.Content, content)
	if err == nil || !strings.Contains(err.Error(), "more than 256 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestOpenRefusesHostileDescriptors(t *testing.T) {
	a := artifact(t, seal(t, descriptor(), files()))
	text := string(a.Config.Content)
	for name, tc := range map[string]struct{ old, now, want string }{
		"another digest of the content": {`"digest": "sha256:`, `"digest": "sha256:0`, "the digest"},
		"an unknown field":              {`"formatVersion": 1,`, `"formatVersion": 1, "more": true,`, "unknown field"},
		"a field twice":                 {`"application": "shop",`, `"application": "bank", "application": "shop",`, "not written as Kalypso writes it"},
		"another format":                {`"formatVersion": 1,`, `"formatVersion": 2,`, "version 2"},
		"more spaces":                   {`"formatVersion": 1,`, `"formatVersion":  1,`, "not written as Kalypso writes it"},
		"deep nesting":                  {`"parameters": {`, `"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `, "parameters": {`, "exceeded max depth"},
		"another number of objects":     {`"images": [`, `"images": null, "images": [`, "not written"},
	} {
		t.Run(name, func(t *testing.T) {
			config := []byte(strings.Replace(text, tc.old, tc.now, 1))
			_, err := solution.Open(withParts(t, a, config, a.Layer.Content), config, a.Layer.Content)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := solution.Open(a.Manifest.Content, append(bytes.Clone(a.Config.Content), '\n'), a.Layer.Content); err == nil {
		t.Error("the digest of the descriptor was not checked")
	}
}

func TestReadManifestRefuses(t *testing.T) {
	a := artifact(t, seal(t, descriptor(), files()))
	for name, change := range map[string]func(m *ocispec.Manifest){
		"an image":            func(m *ocispec.Manifest) { m.ArtifactType, m.Config.MediaType = "", ocispec.MediaTypeImageConfig },
		"two layers":          func(m *ocispec.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) },
		"no layer":            func(m *ocispec.Manifest) { m.Layers = nil },
		"a huge layer":        func(m *ocispec.Manifest) { m.Layers[0].Size = 1 << 40 },
		"a negative size":     func(m *ocispec.Manifest) { m.Config.Size = -1 },
		"another digest kind": func(m *ocispec.Manifest) { m.Config.Digest = digest.SHA512.FromString("x") },
		"a damaged digest":    func(m *ocispec.Manifest) { m.Config.Digest = "sha256:../../x" },
		"no digest":           func(m *ocispec.Manifest) { m.Config.Digest = "" },
	} {
		t.Run(name, func(t *testing.T) {
			var m ocispec.Manifest
			if err := json.Unmarshal(a.Manifest.Content, &m); err != nil {
				t.Fatal(err)
			}
			change(&m)
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := solution.ReadManifest(text); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}

func TestCompare(t *testing.T) {
	v := seal(t, descriptor(), files())
	d, f := descriptor(), files()
	d.Inputs.Source.Commit, d.Renderer.Version = strings.Repeat("d", 40), "v2.0.0"
	d.Targets[0].Images = []string{"shop:1.5.0"}
	f[2].Content = []byte("replicas: 1 # values.yaml\nname: west # east/values.yaml\n")
	f[0].Path = "sites/west/other.yaml"
	var got []string
	for _, one := range solution.Compare(v, seal(t, d, f)) {
		got = append(got, one.Target+" "+one.String())
	}
	want := []string{
		` inputs.source: it has "https://git.example.com/acme/shop@aaaaaaa", not "https://git.example.com/acme/shop@ddddddd"`,
		`east targets: it has "east in east with 1 objects and images shop:1.4.0", not "east in east with 1 objects and images shop:1.5.0"`,
		`east .kalypso/east/values.yaml:2: it has "name: east # east/values.yaml", not "name: west # east/values.yaml"`,
		`west sites/west/manifests.yaml: "the file" is too much`,
		`west sites/west/other.yaml: "the file" is missing`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCompareFindings: another release has other rules.
func TestCompareFindings(t *testing.T) {
	d := descriptor()
	d.Checks.Findings = []check.Finding{{Rule: "probes", Level: check.Warn, File: "east/manifests.yaml", Line: 1, Message: "no probe"}}
	v, more := seal(t, descriptor(), files()), seal(t, d, files())
	got := solution.Compare(v, more)
	if len(got) != 1 || got[0].Field != "checks.findings" || got[0].Has != "" || !strings.Contains(got[0].Wants, "no probe") {
		t.Errorf("got %+v", got)
	}
	d.Renderer.Version = "v2.0.0"
	if got := solution.Compare(v, seal(t, d, files())); len(got) > 0 {
		t.Errorf("another release: got %+v", got)
	}
}

// TestManyFindings: a version has the most severe findings, and counts the others, so that many targets with warnings can be published.
func TestManyFindings(t *testing.T) {
	var findings []check.Finding
	for i := range 3 * solution.MaxFindings {
		level := check.Warn
		if i%10 == 9 {
			level = check.Refuse
		}
		findings = append(findings, check.Finding{Rule: "probes", Level: level, File: fmt.Sprintf("t%05d/manifests.yaml", i), Message: "no probe"})
	}
	c := solution.NewChecks(solution.PolicyBuiltIn, findings)
	refused := func(l check.Level) bool { return l == check.Refuse }
	inOrder := slices.IsSortedFunc(c.Findings, func(a, b check.Finding) int { return strings.Compare(a.File, b.File) })
	if len(c.Findings) != solution.MaxFindings || c.Omitted[check.Warn] != 2*solution.MaxFindings || c.Omitted[check.Refuse] != 0 || !inOrder {
		t.Errorf("%d findings, omitted %v, in order: %t", len(c.Findings), c.Omitted, inOrder)
	}
	if got := c.Count(refused); got != 3*solution.MaxFindings/10 {
		t.Errorf("%d refused", got)
	}
	d := descriptor()
	d.Checks = c
	v, fewer := seal(t, d, files()), d
	fewer.Checks.Omitted = map[check.Level]int{check.Warn: 1}
	if got := solution.Compare(v, seal(t, fewer, files())); len(got) != 1 || got[0].Field != "checks.omitted" {
		t.Errorf("got %+v", got)
	}
}

func FuzzOpen(f *testing.F) {
	v, err := solution.Seal(descriptor(), files())
	if err != nil {
		f.Fatal(err)
	}
	a, err := v.Artifact()
	if err != nil {
		f.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(a.Layer.Content))
	if err != nil {
		f.Fatal(err)
	}
	tape, err := io.ReadAll(zipped)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.Config.Content, tape)
	for _, d := range []solution.Descriptor{pinnedTo(revision()), pinnedTo(&solution.Pinned{Uninstalled: true})} {
		other, err := solution.Seal(d, files())
		if err != nil {
			f.Fatal(err)
		}
		with, err := other.Artifact()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(with.Config.Content, tape)
	}
	f.Add([]byte(`{"formatVersion": 1}`), []byte{})
	f.Fuzz(func(t *testing.T, config, tape []byte) {
		layer := compressed(t, tape) // or hardly any input would be more than a damaged file
		v, err := solution.Open(withParts(t, a, config, layer), config, layer)
		if err != nil {
			return
		}
		for _, file := range v.Files {
			if !filepath.IsLocal(file.Path) {
				t.Errorf("the path %q leaves the folder", file.Path)
			}
		}
		if again, err := solution.Seal(v.Descriptor, v.Files); err != nil || len(solution.Compare(v, again)) > 0 || again.Digest() != v.Digest() {
			t.Errorf("it is another version when it is sealed again: %v", err)
		}
	})
}

func FuzzReadManifest(f *testing.F) {
	v, err := solution.Seal(descriptor(), files())
	if err != nil {
		f.Fatal(err)
	}
	a, err := v.Artifact()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.Manifest.Content)
	f.Fuzz(func(t *testing.T, text []byte) {
		config, layer, err := solution.ReadManifest(text)
		if err == nil && (config.Size > solution.MaxDescriptor || layer.Size > solution.MaxLayer || config.Digest.Validate() != nil || layer.Digest.Validate() != nil) {
			t.Errorf("accepted %+v %+v", config, layer)
		}
	})
}
