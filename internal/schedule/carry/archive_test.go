package carry_test

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/schedule/carry"
)

// key returns a key of a sender.
func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func public(seed byte) ed25519.PublicKey { return key(seed).Public().(ed25519.PublicKey) }

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

const blob = `{"schemaVersion":2}`

// manifest returns a manifest whose files are in folder.
func manifest() *carry.Manifest {
	image := carry.Artifact{MediaType: "application/vnd.oci.image.manifest.v1+json", Digest: "sha256:" + sum(blob), Size: int64(len(blob))}
	commit := strings.Repeat("a", 40)
	return &carry.Manifest{
		Version: 1, Environment: "prod", ClusterType: "drone", Made: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		GitOps: carry.GitOps{Repository: "https://git.example/gitops", Branch: "prod", Commit: commit},
		Repositories: []carry.Repository{{
			URL: "https://git.example/gitops", File: "git/1.bundle", References: []carry.Reference{{Name: "refs/heads/prod", Commit: commit}},
		}},
		Targets: []carry.Target{{Name: "shop-prod", Images: []string{"registry.example/shop:1"}}},
		Images:  []carry.Image{{Reference: "registry.example/shop:1", Artifact: image}},
	}
}

func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"git/1.bundle": "# v2 git bundle\n...", "index.json": "{}\n", "oci-layout": "{}\n", "blobs/sha256/" + sum(blob): blob, "ingest/rest": "left over",
	} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := carry.Write(&b, manifest(), folder(t), key(1)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(content []byte, keys ...ed25519.PublicKey) (*carry.Archive, error) {
	if keys == nil {
		keys = []ed25519.PublicKey{public(1)}
	}
	return carry.Open(bytes.NewReader(content), int64(len(content)), keys...)
}

// wantInvalid checks the kind of an error, and what it says.
func wantInvalid(t *testing.T, what string, err error, says string) {
	t.Helper()
	if !errors.Is(err, carry.ErrInvalid) || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: got %v, want %q", what, err, says)
	}
}

func TestArchive(t *testing.T) {
	content := write(t)
	if !bytes.Equal(content, write(t)) {
		t.Error("the same files make other bytes")
	}
	a, err := open(content, public(2), public(1))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Manifest.Files; len(got) != 4 || got[0].Name != "blobs/sha256/"+sum(blob) || got[3].Name != "oci-layout" {
		t.Errorf("got %+v", got)
	}
	in, size, err := a.Open("sha256:" + sum(blob))
	if err != nil || size != int64(len(blob)) {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(in); err != nil || string(text) != blob {
		t.Errorf("got %q, %v", text, err)
	}
	if _, _, err := a.Open("sha256:../../index.json"); err == nil {
		t.Error("a path is a digest")
	}
	_, err = open(content, public(2))
	wantInvalid(t, "another key", err, "not signed with the sender's key")
}

// TestEveryByteCounts: a bundle with any one bit changed is refused, and so is each beginning of one.
func TestEveryByteCounts(t *testing.T) {
	content := write(t)
	for i := range content {
		changed := bytes.Clone(content)
		changed[i] ^= 1
		if a, err := open(changed); err == nil {
			same, _ := json.Marshal(a.Manifest)
			original, _ := open(content)
			if want, _ := json.Marshal(original.Manifest); !bytes.Equal(same, want) {
				t.Fatalf("byte %d of %d can be changed", i, len(content))
			}
		}
	}
	end := bytes.LastIndexFunc(content, func(r rune) bool { return r != 0 })
	for i := range end {
		if _, err := open(content[:i]); !errors.Is(err, carry.ErrInvalid) {
			t.Fatalf("truncated to %d of %d bytes: got %v", i, len(content), err)
		}
	}
}

// tape writes a tar file.
func tape(t testing.TB, files ...tar.Header) func(contents ...string) []byte {
	return func(contents ...string) []byte {
		t.Helper()
		var b bytes.Buffer
		out := tar.NewWriter(&b)
		for i, h := range files {
			h.Size = int64(len(contents[i]))
			if h.Typeflag == tar.TypeSymlink {
				h.Size = 0
			}
			if err := out.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Write([]byte(contents[i])[:h.Size]); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
}

func sealed(t testing.TB, m any) string {
	t.Helper()
	payload, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	text, err := hub.Seal(carry.PayloadType, payload, key(1))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHostileArchives are refused, even if the sender signed the manifest.
func TestHostileArchives(t *testing.T) {
	regular := func(name string) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Format: tar.FormatUSTAR}
	}
	valid := func() *carry.Manifest {
		a, err := open(write(t))
		if err != nil {
			t.Fatal(err)
		}
		return a.Manifest
	}
	link := regular("blobs/sha256/" + sum(blob))
	link.Typeflag, link.Linkname = tar.TypeSymlink, "/etc/passwd"
	extended := regular("bundle.json")
	extended.Format, extended.PAXRecords = tar.FormatPAX, map[string]string{"KALYPSO.x": "y"}
	envelope := sealed(t, valid())
	for what, tc := range map[string]struct {
		content []byte
		says    string
	}{
		"empty":              {nil, "truncated"},
		"no tar":             {[]byte(strings.Repeat("x", 2000)), "invalid tar header"},
		"another first file": {tape(t, regular("git/1.bundle"))("x"), "does not begin with bundle.json"},
		"a parent folder":    {tape(t, regular("../bundle.json"))("x"), "does not begin with bundle.json"},
		"no envelope":        {tape(t, regular("bundle.json"))("{}"), "want application/vnd.kalypso.bundle+json"},
		"not JSON":           {tape(t, regular("bundle.json"))("x"), "read the signature"},
		"extended headers":   {tape(t, extended)(envelope), "is not a plain file"},
		"a link":             {tape(t, regular("bundle.json"), link)(envelope, ""), "is not a plain file"},
		"files are missing":  {tape(t, regular("bundle.json"))(envelope), "truncated"},
		"another order":      {tape(t, regular("bundle.json"), regular("index.json"))(envelope, "{}\n"), "was announced"},
		"a second manifest":  {tape(t, regular("bundle.json"), regular("bundle.json"))(envelope, envelope), "was announced"},
		"a larger file":      {tape(t, regular("bundle.json"), regular(link.Name))(envelope, blob+" "), "was announced"},
		"another file":       {tape(t, regular("bundle.json"), regular(link.Name))(envelope, strings.Repeat("x", len(blob))), "was changed"},
		"reports":            {tape(t, regular("bundle.json"))(reports(t)), "want application/vnd.kalypso.bundle+json"},
	} {
		_, err := open(tc.content)
		wantInvalid(t, what, err, tc.says)
	}
	good := write(t)
	_, err := open(append(bytes.Clone(good), good...))
	wantInvalid(t, "two bundles", err, "something follows")

	for what, change := range map[string]func(m *carry.Manifest){
		"has version 2 of the format":                   func(m *carry.Manifest) { m.Version = 2 },
		`".." is not the name of an environment`:        func(m *carry.Manifest) { m.Environment = ".." },
		"does not say when":                             func(m *carry.Manifest) { m.Made = time.Time{} },
		`"../x" is not the name of a file`:              func(m *carry.Manifest) { m.Files[0].Name = "../x" },
		`"bundle.json" is not the name of a file`:       func(m *carry.Manifest) { m.Files[0].Name = "bundle.json" },
		"not sorted, or":                                func(m *carry.Manifest) { m.Files[1] = m.Files[0] },
		"size or digest of":                             func(m *carry.Manifest) { m.Files[0].Size = -1 },
		"size or digest of \"index.json\"":              func(m *carry.Manifest) { m.Files[2].Size = 1 << 50 },
		"is not named after its digest":                 func(m *carry.Manifest) { m.Files[0].SHA256 = sum("x") },
		"without a Git bundle of its own":               func(m *carry.Manifest) { m.Repositories[0].File = "index.json" },
		"does not have a plain path":                    func(m *carry.Manifest) { m.Repositories[0].URL = "https://git.example/../gitops" },
		"is not the URL":                                func(m *carry.Manifest) { m.Repositories[0].URL = "https://git.example/\n" },
		"is not a branch or tag":                        func(m *carry.Manifest) { m.Repositories[0].References[0].Name = "HEAD" },
		`"refs/heads/kalypso-bundle/prod/drone" is not`: func(m *carry.Manifest) { m.Repositories[0].References[0].Name = "refs/heads/kalypso-bundle/prod/drone" },
		"lacks branch":                                  func(m *carry.Manifest) { m.GitOps.Branch = "stage" },
		"is not an image reference":                     func(m *carry.Manifest) { m.Images[0].Reference = "-o x" },
		"the manifest of image":                         func(m *carry.Manifest) { m.Images[0].Digest = "sha256:" + sum("x") },
		"the manifest of chart": func(m *carry.Manifest) {
			m.Charts = []carry.Chart{{Repository: "oci://a.example/b", Name: "b", Version: "1.0.0"}}
		},
		`chart ".."`: func(m *carry.Manifest) {
			m.Charts = []carry.Chart{{Repository: "oci://a.example/b", Name: "..", Version: "1.0.0"}}
		},
	} {
		m := valid()
		change(m)
		_, err := open(tape(t, regular("bundle.json"))(sealed(t, m)))
		wantInvalid(t, what, err, what)
	}
}

// reports returns signed reports, which the same key may sign.
func reports(t testing.TB) string {
	t.Helper()
	text, err := hub.SignReports(hub.NewReportBatch("large-07", time.Unix(0, 0), nil), key(1))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzOpen: whatever a medium has, opening it ends without a panic, and what is opened is what was signed.
func FuzzOpen(f *testing.F) {
	content := write(f)
	f.Add(content, "")
	f.Add(content[:3000], "")
	f.Add([]byte(nil), `{"version":1}`)
	for _, m := range []*carry.Manifest{manifest()} {
		payload, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(nil), string(payload))
	}
	original, err := open(content)
	if err != nil {
		f.Fatal(err)
	}
	want, err := json.Marshal(original.Manifest)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte, payload string) {
		if a, err := open(content); err == nil {
			if got, _ := json.Marshal(a.Manifest); !bytes.Equal(got, want) {
				t.Errorf("opened %s", got)
			}
		}
		text, err := hub.Seal(carry.PayloadType, []byte(payload), key(1))
		if err != nil {
			t.Fatal(err)
		}
		h := tar.Header{Typeflag: tar.TypeReg, Name: "bundle.json", Mode: 0o644, Format: tar.FormatUSTAR}
		if a, err := open(tape(t, h)(string(text))); err == nil && len(a.Manifest.Files) > 0 {
			t.Errorf("opened a bundle without its files: %+v", a.Manifest)
		}
	})
}
