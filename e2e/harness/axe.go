package harness

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// axe-core finds what people cannot read or reach. The hash is the one that the npm registry publishes for the version.
const (
	axeVersion   = "4.14.1"
	axeAddress   = "https://registry.npmjs.org/axe-core/-/axe-core-" + axeVersion + ".tgz"
	axeIntegrity = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
	axeFile      = "package/axe.min.js"
)

// Axe returns the script of axe-core. It is fetched once, and kept in the folder that built programs are kept in.
func Axe(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache, "kalypso-e2e", "axe-core-"+axeVersion+".tgz")
	archive, err := os.ReadFile(kept)
	if err != nil || intact(archive) != nil {
		if archive, err = fetchAxe(ctx); err != nil {
			return "", fmt.Errorf("fetch axe-core %s: %w", axeVersion, err)
		}
		if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(kept, archive, 0o644); err != nil {
			return "", err
		}
	}
	return unpack(archive, axeFile)
}

func fetchAxe(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, axeAddress, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", axeAddress, answer.Status)
	}
	archive, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	return archive, intact(archive)
}

func intact(archive []byte) error {
	sum := sha512.Sum512(archive)
	if base64.StdEncoding.EncodeToString(sum[:]) != axeIntegrity {
		return errors.New("its hash is another one")
	}
	return nil
}

// unpack returns one file of an archive.
func unpack(archive []byte, name string) (string, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err != nil {
			return "", fmt.Errorf("find %s: %w", name, err)
		}
		if header.Name == name {
			text, err := io.ReadAll(files)
			return string(text), err
		}
	}
}

// Violation is something on a page that keeps people from reading or reaching it.
type Violation struct {
	Rule  string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML string `json:"html"`
		Why  string `json:"failureSummary"`
	} `json:"nodes"`
}

// String says what is wrong, and where first.
func (v Violation) String() string {
	text := fmt.Sprintf("%s: %s, %d times", v.Rule, v.Help, len(v.Nodes))
	for i, n := range v.Nodes {
		if i == 3 {
			break
		}
		text += fmt.Sprintf("\n\t%.300s\n\t\t%s", n.HTML, strings.ReplaceAll(n.Why, "\n", "\n\t\t"))
	}
	return text
}

// Check looks at the page as axe-core does, by the rules of WCAG 2.2 AA and its own best practices.
func (t *Tab) Check(axe string) ([]Violation, error) {
	if _, err := Eval[bool](t, axe+"; true"); err != nil {
		return nil, err
	}
	return Eval[[]Violation](t, `axe.run(document, {resultTypes: ["violations"],
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r => r.violations)`)
}
