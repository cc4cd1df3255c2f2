package scaffold

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

//go:embed files/control-plane.md
var controlPlaneReadme []byte

//go:embed files/gitops.md
var gitOpsReadme []byte

// exampleEnvironments are the environments of every example; each is a branch of that name.
var exampleEnvironments = []string{"dev", "stage"}

// Branch is the content of a branch of a new repository.
type Branch struct {
	Name  string
	Files map[string][]byte
}

// ControlPlaneBranches returns the example fleet as the branches of one repository that needs no other:
// the sources of the example's workloads are in main, below samples/.
// The documents name repositories by the given URLs; see [URLs].
func ControlPlaneBranches(example fs.FS, urls map[string]string) ([]Branch, error) {
	var branches []Branch
	for _, name := range append([]string{"main"}, exampleEnvironments...) {
		files, err := readFiles(example, "control-plane/"+name)
		if err != nil {
			return nil, err
		}
		branches = append(branches, Branch{name, files})
	}
	main := branches[0].Files
	for _, source := range []string{"hello-world-app", "platform-services"} {
		files, err := readFiles(example, source+"/main")
		if err != nil {
			return nil, err
		}
		for name, content := range files {
			main[path.Join("samples", source, name)] = content
		}
	}
	for name, content := range main {
		if strings.HasPrefix(name, "workloads/") {
			main[name] = pointToSamples(content)
		}
	}
	for _, b := range branches {
		for name, content := range b.Files {
			b.Files[name] = nameRepositories(content, urls)
		}
	}
	main["README.md"] = controlPlaneReadme
	return branches, nil
}

// GitOpsBranches returns the branches that the example's environments write to.
func GitOpsBranches() []Branch {
	var branches []Branch
	for _, environment := range exampleEnvironments {
		branches = append(branches, Branch{environment, map[string][]byte{"README.md": gitOpsReadme}})
	}
	return branches
}

func readFiles(fsys fs.FS, root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[strings.TrimPrefix(name, root+"/")], err = fs.ReadFile(fsys, name)
		return err
	})
	return files, err
}

// A registration of the example names a repository beside the control plane:
//
//	repo: ../hello-world-app
//	branch: main
//	path: workload/
var siblingSource = regexp.MustCompile(`repo: \.\./(\S+)(\n\s+branch: main\n\s+path: )`)

func pointToSamples(registration []byte) []byte {
	return siblingSource.ReplaceAll(registration, []byte("repo: .${2}samples/${1}/"))
}

// GitOpsSibling is the name of the GitOps repository in the example's control plane, relative to it.
const GitOpsSibling = "../gitops"

// URLs returns the URLs of the repositories that the example names relative to the control plane.
// It is empty if the control plane has no URL yet; then the names stay relative.
func URLs(controlPlane string) (map[string]string, error) {
	urls := map[string]string{}
	if controlPlane == "" {
		return urls, nil
	}
	for _, name := range []string{".", GitOpsSibling} {
		url, err := fleet.JoinURL(controlPlane, name)
		if err != nil {
			return nil, err
		}
		urls[name] = url
	}
	return urls, nil
}

var relativeRepo = regexp.MustCompile(`(?m)^(\s*repo: )(\.\S*)( .*)?$`)

func nameRepositories(document []byte, urls map[string]string) []byte {
	return relativeRepo.ReplaceAllFunc(document, func(line []byte) []byte {
		m := relativeRepo.FindSubmatch(line)
		url, ok := urls[string(m[2])]
		if !ok {
			return line
		}
		return append(bytes.Clone(m[1]), yamlScalar(url)...)
	})
}

// yamlScalar formats a text as a YAML scalar, with quotes if it needs them.
func yamlScalar(text string) []byte {
	// A string always marshals.
	quoted, _ := yaml.Marshal(text)
	return bytes.TrimSpace(quoted)
}

// CheckURL returns an error for a URL that should not be written into a document, such as one with a password.
func CheckURL(raw string) error {
	switch {
	case raw == "":
		return nil
	case strings.ContainsFunc(raw, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }):
		return errors.New("a URL must not contain spaces or control characters")
	case strings.HasPrefix(raw, "-") || !strings.ContainsAny(strings.TrimRight(raw, "/"), "/:"):
		return fmt.Errorf("%q is not the URL of a repository; write it like https://github.com/org/repository", raw)
	case !strings.Contains(raw, "://"):
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" && u.Scheme != "file" {
		// The error does not quote the URL: it may contain a password.
		return errors.New("this is not the URL of a repository; write it like https://github.com/org/repository")
	}
	if _, secret := u.User.Password(); secret || (u.User != nil && u.Scheme != "ssh") {
		return errors.New("remove the credential from the URL: it would be committed")
	}
	return nil
}
