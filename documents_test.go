package kalypso

import (
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)(?: "[^"]*")?\)`)
	codeBlock    = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```")
	yamlBlock    = regexp.MustCompile("(?ms)^([ ]*)```yaml[^\n]*\n(.*?)^[ ]*```")
)

// TestLinks: what a document links to in this repository exists.
func TestLinks(t *testing.T) {
	for _, file := range filesEndingIn(t, ".md") {
		text := codeBlock.ReplaceAllString(readText(t, file), "")
		for _, link := range markdownLink.FindAllStringSubmatch(text, -1) {
			target, err := url.Parse(link[1])
			if err != nil || target.IsAbs() || target.Path == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), target.Path)); err != nil {
				t.Errorf("%s: link to %s: no such file", file, link[1])
			}
		}
	}
}

// TestPagesAreListed: the list of pages has each of them, so that it can be found by what it answers.
func TestPagesAreListed(t *testing.T) {
	list := readText(t, "docs/README.md")
	for _, file := range filesEndingIn(t, ".md") {
		folder, ok := strings.CutPrefix(path.Dir(file), "docs/")
		if ok && slices.Contains([]string{"how-to", "reference", "explanation"}, folder) && !strings.Contains(list, "]("+folder+"/"+path.Base(file)+")") {
			t.Errorf("docs/README.md does not list %s", file)
		}
	}
}

// TestDocumentsDecode: our resources in examples and in the text of documents have only fields that exist.
func TestDocumentsDecode(t *testing.T) {
	texts := map[string][]string{}
	for _, file := range filesEndingIn(t, ".md") {
		for _, block := range yamlBlock.FindAllStringSubmatch(readText(t, file), -1) {
			texts[file] = append(texts[file], unindent(block[2], block[1]))
		}
	}
	for _, file := range filesEndingIn(t, ".yaml") {
		if strings.HasPrefix(file, "examples/") {
			texts[file] = []string{readText(t, file)}
		}
	}
	for file, blocks := range texts {
		for _, block := range blocks {
			for _, doc := range regexp.MustCompile(`(?m)^---\s*$`).Split(block, -1) {
				if err := strictDecode(doc); err != nil {
					t.Errorf("%s: %v\n%s", file, err, doc)
				}
			}
		}
	}
}

// strictDecode decodes a document of one of our kinds; others pass.
func strictDecode(doc string) error {
	var head struct{ APIVersion, Kind string }
	if yaml.Unmarshal([]byte(doc), &head) != nil || !strings.HasPrefix(head.APIVersion, v1alpha1.GroupVersion.Group+"/") {
		return nil
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	object, err := scheme.New(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict([]byte(doc), object)
}

// machinePath is a path of somebody's machine, wherever a path can begin.
var machinePath = regexp.MustCompile("(?:^|[\\s\"'`(=])(/(?:" + strings.Join([]string{"root", "work", "home", "Users"}, "|") + ")/\\w[\\w.]*)")

// TestNoMachinePaths: what is written down holds on every machine.
func TestNoMachinePaths(t *testing.T) {
	for _, file := range repositoryFiles(t) {
		for _, found := range machinePath.FindAllStringSubmatch(readText(t, file), -1) {
			t.Errorf("%s: %s is a path of one machine", file, found[1])
		}
	}
}

// TestTodosHaveIssues: what is left to do can be looked up, in the code's comments and in documents.
func TestTodosHaveIssues(t *testing.T) {
	marker := regexp.MustCompile(`\b(?:TO` + `DO|FIX` + `ME|XX` + `X)\b.*`)
	for _, file := range repositoryFiles(t) {
		if !slices.Contains([]string{".go", ".md", ".yaml", ".yml", ".sh", ""}, path.Ext(file)) {
			continue
		}
		for _, found := range marker.FindAllString(readText(t, file), -1) {
			if !strings.Contains(found, "/issues/") {
				t.Errorf("%s: %q has no link to an issue", file, found)
			}
		}
	}
}

// TestNoReplace: others can use this module, and install the command, as it is.
func TestNoReplace(t *testing.T) {
	mod, err := modfile.Parse("go.mod", []byte(readText(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Replace {
		t.Errorf("go.mod:%d: replaces %s", r.Syntax.Start.Line, r.Old.Path)
	}
}

// TestDependenciesHaveReasons: every module the program imports has its sentence in the decisions.
func TestDependenciesHaveReasons(t *testing.T) {
	var decisions strings.Builder
	for _, file := range filesEndingIn(t, ".md") {
		if strings.HasPrefix(file, "docs/decisions/") {
			decisions.WriteString(readText(t, file))
		}
	}
	mod, err := modfile.Parse("go.mod", []byte(readText(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range goPackages(t) {
		for _, i := range p.imports() {
			dependency := moduleOf(mod, i.path)
			if dependency != "" && !strings.Contains(decisions.String(), "`"+dependency+"`") {
				t.Errorf("%s: imports %s: say in docs/decisions why", p.position(i.node), dependency)
			}
		}
	}
}

// TestDependenciesAreUsed: go.mod says what is imported, and marks nothing else as needed by ourselves. It is what go mod tidy
// would say of it, which has to read the tests of all dependencies for more, and wants the network for those.
func TestDependenciesAreUsed(t *testing.T) {
	mod, err := modfile.Parse("go.mod", []byte(readText(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, path := range filesEndingIn(t, ".go") {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			used[moduleOf(mod, strings.Trim(i.Path.Value, `"`))] = true
		}
	}
	for _, r := range mod.Require {
		isTool := slices.ContainsFunc(mod.Tool, func(tool *modfile.Tool) bool { return moduleOf(mod, tool.Path) == r.Mod.Path })
		if used[r.Mod.Path] == r.Indirect && !isTool {
			t.Errorf("go.mod:%d: %s: imported here: %v; run go mod tidy", r.Syntax.Start.Line, r.Mod.Path, used[r.Mod.Path])
		}
	}
}

// moduleOf is the required module an import comes from; empty for the standard library and ourselves.
func moduleOf(mod *modfile.File, imported string) string {
	longest := ""
	for _, r := range mod.Require {
		if (imported == r.Mod.Path || strings.HasPrefix(imported, r.Mod.Path+"/")) && len(r.Mod.Path) > len(longest) {
			longest = r.Mod.Path
		}
	}
	return longest
}

func filesEndingIn(t *testing.T, suffix string) []string {
	t.Helper()
	return slices.DeleteFunc(repositoryFiles(t), func(file string) bool { return !strings.HasSuffix(file, suffix) })
}

func unindent(text, indent string) string {
	if indent == "" {
		return text
	}
	return strings.ReplaceAll("\n"+text, "\n"+indent, "\n")
}

// TestEachLibraryHasAReason: decision 2 has the license, the release and the reason of each library that go.mod requires directly.
func TestEachLibraryHasAReason(t *testing.T) {
	decision := readText(t, "docs/decisions/0002-libraries.md")
	module, err := modfile.Parse("go.mod", []byte(readText(t, "go.mod")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range module.Require {
		row := regexp.MustCompile("(?m)^\\| [^|]*`" + regexp.QuoteMeta(r.Mod.Path) + "`[^|]*\\| [\\w,. -]+ \\| 20\\d\\d-\\d\\d \\| .+ \\|$")
		if !r.Indirect && !row.MatchString(decision) {
			t.Errorf("docs/decisions/0002-libraries.md has no row with license, release and reason for %s", r.Mod.Path)
		}
	}
}
