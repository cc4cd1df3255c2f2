package scaffold

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"sigs.k8s.io/yaml"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
)

// Form is what a Delivery renders: a field of its spec, and a flag of "kalypso init app".
type Form string

const (
	// Chart is a Helm chart.
	Chart Form = "chart"
	// Kustomization is a folder with a kustomization, or one for each environment.
	Kustomization Form = "kustomization"
	// Manifests is a folder with plain manifests, or one for each environment.
	Manifests Form = "manifests"
)

// Forms are all forms. Of two candidates that are equally deep, the one of the first form is preferred.
var Forms = []Form{Chart, Kustomization, Manifests}

// Deliverable is something in a repository that a Delivery can deliver.
type Deliverable struct {
	Form Form
	// Folder is relative to the root of the search. It can contain [app.EnvironmentPlaceholder].
	Folder string
	// Environments are those that the files show, in the usual order of promotion; empty if they show none.
	Environments []string
	// Values has the file with a chart's values for an environment, by environment.
	Values map[string]string
	// Images are the image repositories of kustomizations and manifests, sorted.
	Images []string
	// NoTag means that the chart has no value image.tag for the image that CI builds.
	NoTag bool
}

// Limits of the search: the work tree can be anything.
const maxEntries = 100_000

// Search is what a search of a repository found.
type Search struct {
	// Found are the candidates, the outermost first.
	Found []Deliverable
	// Workloads are the files with a Workload.
	Workloads []string
	// InRoot means that manifests in the root were not taken as a candidate: a Delivery delivers every file below its folder.
	InRoot bool
	// Cut means that the search ended early, at a limit.
	Cut bool
}

// environmentOrder has the usual names of environments, in the usual order of promotion.
var environmentOrder = []string{
	"dev", "develop", "development", "test", "testing", "qa", "int", "integration", "stage", "staging", "uat", "preprod", "prod", "production", "live",
}

// overlayFolders are the usual names of folders that have a folder for each environment.
var overlayFolders = []string{"overlays", "environments", "envs"}

var (
	environmentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	runsContainers  = regexp.MustCompile(`(?m)^kind:\s*["']?(Deployment|StatefulSet|DaemonSet|CronJob|Job|Pod|Rollout)\b`)
	workloadLine    = regexp.MustCompile(`(?m)^apiVersion:\s*["']?scheduler\.kalypso\.io/`)
	libraryLine     = regexp.MustCompile(`(?m)^type:\s*["']?library\b`)
	imageLine       = regexp.MustCompile(`(?m)^\s*-?\s*image:\s*["']?([^\s"'#]+)`)
)

var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// folders are the folders of a work tree with something to deliver.
type folders struct {
	charts, kustomizations, manifests []string
}

// FindDeliverables searches a work tree for charts, kustomizations and plain manifests. It does not follow links, skips hidden folders and
// dependencies, and reads a bounded number of files of bounded size.
func FindDeliverables(tree fs.FS) (Search, error) {
	var s Search
	var in folders
	err := s.walk(tree, ".", func(name string, read func() []byte) {
		in.add(&s, name, read)
	})
	if err != nil {
		return s, err
	}
	for _, d := range in.deliverables(&s) {
		found, err := InspectDeliverable(tree, d.Form, d.Folder)
		if err != nil {
			return s, err
		}
		s.Found = append(s.Found, found)
	}
	slices.SortStableFunc(s.Found, func(a, b Deliverable) int {
		return strings.Count(path.Join(a.Folder, "x"), "/") - strings.Count(path.Join(b.Folder, "x"), "/")
	})
	return s, nil
}

// walk calls visit with the regular files below a folder. read returns nil for files that are too large.
func (s *Search) walk(tree fs.FS, below string, visit func(name string, read func() []byte)) error {
	entries, files := 0, 0
	return fs.WalkDir(tree, below, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != below {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			s.Cut = true
			return fs.SkipAll
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name != below && (strings.HasPrefix(base, ".") || hasControl(base) || slices.Contains([]string{"node_modules", "vendor", "testdata"}, base)) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !isYAML(base) && base != "Kustomization" {
			return nil
		}
		if files++; files > maxFiles {
			s.Cut = true
			return fs.SkipAll
		}
		visit(name, func() []byte { return readBounded(tree, name) })
		return nil
	})
}

// hasControl reports whether a name has characters that could end a line of a document.
func hasControl(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }

// readBounded returns the content of a file; nil if it is not a regular file, cannot be read, or is too large.
func readBounded(tree fs.FS, name string) []byte {
	info, err := fs.Stat(tree, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileSize {
		return nil
	}
	content, _ := fs.ReadFile(tree, name) // unreadable is like absent: rendering reports it
	return content
}

func (in *folders) add(s *Search, name string, read func() []byte) {
	folder, base := path.Dir(name), path.Base(name)
	switch {
	case base == "Chart.yaml":
		if !libraryLine.Match(read()) {
			in.charts = append(in.charts, folder)
		}
	case slices.Contains(kustomizationNames, base):
		in.kustomizations = append(in.kustomizations, folder)
	default:
		content := read()
		if workloadLine.Match(content) && slices.ContainsFunc(kindLine.FindAllSubmatch(content, -1), func(m [][]byte) bool { return string(m[1]) == "Workload" }) {
			s.Workloads = append(s.Workloads, name)
		} else if runsContainers.Match(content) && !slices.Contains(in.manifests, folder) {
			in.manifests = append(in.manifests, folder)
		}
	}
}

// deliverables returns the candidates: what is part of another one is left out.
func (in *folders) deliverables(s *Search) []Deliverable {
	charts := outermost(in.charts)
	isInChart := func(folder string) bool { return isBelowAny(folder, charts) }
	kustomizations := slices.DeleteFunc(in.kustomizations, isInChart)
	patterns, homes := byEnvironment(kustomizations)
	kustomizations = slices.DeleteFunc(kustomizations, func(folder string) bool { return isBelowAny(folder, homes) })
	kustomizations = append(patterns, outermost(kustomizations)...)

	manifests := slices.DeleteFunc(in.manifests, func(folder string) bool {
		return isInChart(folder) || isBelowAny(folder, homes) || isBelowAny(folder, kustomizations)
	})
	if s.InRoot = slices.Contains(manifests, "."); s.InRoot {
		manifests = slices.DeleteFunc(manifests, func(folder string) bool { return folder == "." })
	}
	patterns, homes = byEnvironment(manifests)
	manifests = slices.DeleteFunc(manifests, func(folder string) bool { return isBelowAny(folder, homes) })
	manifests = append(patterns, outermost(manifests)...)

	var all []Deliverable
	for form, found := range map[Form][]string{Chart: charts, Kustomization: kustomizations, Manifests: manifests} {
		for _, folder := range found {
			all = append(all, Deliverable{Form: form, Folder: folder})
		}
	}
	slices.SortFunc(all, func(a, b Deliverable) int {
		if a.Form != b.Form {
			return slices.Index(Forms, a.Form) - slices.Index(Forms, b.Form)
		}
		return strings.Compare(a.Folder, b.Folder)
	})
	return all
}

// byEnvironment returns the patterns for folders that are named like environments, and the folders that all their files are in: the parent
// of "overlays" includes the base.
func byEnvironment(found []string) (patterns, homes []string) {
	for _, folder := range found {
		parent := path.Dir(folder)
		isOverlay := slices.Contains(overlayFolders, path.Base(parent))
		if folder == "." || !isOverlay && !slices.Contains(environmentOrder, path.Base(folder)) {
			continue
		}
		if pattern := path.Join(parent, app.EnvironmentPlaceholder); !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
			if isOverlay {
				parent = path.Dir(parent)
			}
			if parent != "." { // the root has other applications
				homes = append(homes, parent)
			}
		}
	}
	return patterns, homes
}

// outermost returns the folders that are not below another one of them, sorted.
func outermost(folders []string) []string {
	var kept []string
	for _, folder := range slices.Sorted(slices.Values(folders)) {
		if !isBelowAny(folder, kept) {
			kept = append(kept, folder)
		}
	}
	return kept
}

func isBelowAny(folder string, of []string) bool {
	return slices.ContainsFunc(of, func(o string) bool { return o == "." || folder == o || strings.HasPrefix(folder, o+"/") })
}

// InspectDeliverable returns what a folder of a work tree delivers. The error says what the folder lacks.
func InspectDeliverable(tree fs.FS, form Form, folder string) (Deliverable, error) {
	folder = path.Clean(folder)
	d := Deliverable{Form: form, Folder: folder, Values: map[string]string{}}
	if !fs.ValidPath(folder) || hasControl(folder) {
		return d, fmt.Errorf("%q is not a folder below the root", folder)
	}
	if form != Chart {
		return d, d.inspectFolder(tree)
	}
	if readBounded(tree, path.Join(folder, "Chart.yaml")) == nil {
		return d, fmt.Errorf("%q has no Chart.yaml", folder)
	}
	if folder == "." {
		// A Workload that is inside a chart is a file of the chart.
		return d, errors.New("the chart is in the root, so that the Workload would be one of its files; move the chart into a folder, such as helm")
	}
	for _, environment := range environmentOrder {
		for _, name := range []string{"values-%s.yaml", "values.%s.yaml", "values_%s.yaml", "values/%s.yaml", "environments/%s.yaml", "envs/%s.yaml"} {
			file := path.Join(folder, fmt.Sprintf(name, environment))
			if d.Values[environment] == "" && readBounded(tree, file) != nil {
				d.Values[environment] = file
				d.Environments = append(d.Environments, environment)
			}
		}
	}
	var values struct {
		Image map[string]any `json:"image"`
	}
	// What cannot be parsed is reported by rendering.
	_ = yaml.Unmarshal(readBounded(tree, path.Join(folder, "values.yaml")), &values)
	_, hasTag := values.Image["tag"]
	d.NoTag = !hasTag
	return d, nil
}

// inspectFolder reads the folder of a kustomization or of plain manifests.
func (d *Deliverable) inspectFolder(tree fs.FS) error {
	home := d.Folder
	if before, after, isPattern := strings.Cut(d.Folder, app.EnvironmentPlaceholder); isPattern {
		home = path.Clean(before)
		entries, err := fs.ReadDir(tree, home)
		if err != nil {
			return fmt.Errorf("%q is not a folder of the repository", home)
		}
		for _, e := range entries {
			if environmentName.MatchString(e.Name()) && d.hasFiles(tree, path.Join(home, e.Name(), after)) {
				d.Environments = append(d.Environments, e.Name())
			}
		}
		if len(d.Environments) == 0 {
			return fmt.Errorf("no folder %q has %s", d.Folder, d.wants())
		}
		isUsual := func(name string) bool { return slices.Contains(environmentOrder, name) }
		if !slices.Contains(overlayFolders, path.Base(home)) && slices.ContainsFunc(d.Environments, isUsual) {
			// The base and other parts are next to the environments.
			d.Environments = slices.DeleteFunc(d.Environments, func(name string) bool { return !isUsual(name) })
		}
		slices.SortStableFunc(d.Environments, func(a, b string) int { return rank(a) - rank(b) })
		if slices.Contains(overlayFolders, path.Base(home)) {
			home = path.Dir(home) // with the base
		}
	} else if !d.hasFiles(tree, d.Folder) {
		return fmt.Errorf("the folder %q has no %s", d.Folder, d.wants())
	}
	if d.Form == Manifests && d.Folder == "." {
		return errors.New("the manifests are in the root, and a Delivery delivers every YAML file below its folder; move them into a folder, such as deploy")
	}
	images := map[string]bool{}
	var s Search
	err := s.walk(tree, home, func(_ string, read func() []byte) {
		content := read()
		if !runsContainers.Match(content) {
			return
		}
		for _, m := range imageLine.FindAllSubmatch(content, -1) {
			images[withoutTag(string(m[1]))] = true
		}
	})
	d.Images = slices.Sorted(maps.Keys(images))
	return err
}

func (d *Deliverable) wants() string {
	if d.Form == Kustomization {
		return "kustomization.yaml"
	}
	return "YAML files"
}

// hasFiles reports whether a folder itself has what the form needs.
func (d *Deliverable) hasFiles(tree fs.FS, folder string) bool {
	if d.Form == Kustomization {
		return slices.ContainsFunc(kustomizationNames, func(name string) bool { return readBounded(tree, path.Join(folder, name)) != nil })
	}
	entries, err := fs.ReadDir(tree, folder)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Type().IsRegular() && isYAML(e.Name()) })
}

// rank returns where an environment is in the order of promotion. Names that are not usual come last.
func rank(environment string) int {
	if i := slices.Index(environmentOrder, environment); i >= 0 {
		return i
	}
	return len(environmentOrder)
}

func withoutTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image = image[:i]
	}
	return image
}

// Onboarding is an existing repository that gets a Workload and a Delivery.
type Onboarding struct {
	Deliverable
	// Name is the name of the Workload; see [NameOf]. GitOps is the name of the repository for the manifests.
	Name, GitOps string
	// Branch is the branch with the configuration of a chart.
	Branch string
	// Root is the folder of the application in its repository; empty for the repository itself.
	Root string
}

// NewOnboarding returns the onboarding of a deliverable. repository is the name of the repository or folder. Environments that the files do
// not show are dev and stage.
func NewOnboarding(d Deliverable, repository, branch, root string) Onboarding {
	if len(d.Environments) == 0 {
		d.Environments = exampleEnvironments
	}
	base := strings.TrimSuffix(app.Sibling(repository, "-gitops"), "-gitops")
	if !plainName.MatchString(base) {
		base = NameOf(base)
	}
	return Onboarding{Deliverable: d, Name: NameOf(base), GitOps: base + "-gitops", Branch: branch, Root: root}
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// NameOf returns a name for a Workload from that of a repository: a DNS label.
func NameOf(repository string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(repository), "-"), "-")
	name = strings.Trim(name[:min(len(name), 53)], "-") // it is also a release name
	if name == "" {
		return "app"
	}
	return name
}

// Path returns the folder from the root of the repository.
func (o Onboarding) Path() string { return path.Join(o.Root, o.Folder) }

// ConfigPath returns the folder with the values of a chart.
func (o Onboarding) ConfigPath() string { return path.Join(o.Root, "workload/values") }

// Image returns the name that CI uses for the image, if it differs from the Workload's and there is only one; else empty.
func (o Onboarding) Image() string {
	if len(o.Images) != 1 {
		return ""
	}
	if name := path.Base(o.Images[0]); name != o.Name && environmentName.MatchString(name) {
		return name
	}
	return ""
}

// Before returns the environment before one of the environments.
func (o Onboarding) Before(i int) string { return o.Environments[i-1] }

//go:embed files/existing/workload.yaml
var existingWorkload string

//go:embed files/existing/delivery.yaml
var existingDelivery string

// Files returns the files to write, by path from the folder of the application. The values of a chart begin as those that it has for the
// environment.
func (o Onboarding) Files(tree fs.FS) (map[string][]byte, error) {
	if hasControl(o.Root) {
		return nil, fmt.Errorf("the folder %q has characters that cannot be printed; rename it", o.Root)
	}
	files := map[string][]byte{}
	for name, text := range map[string]string{"workload/workload.yaml": existingWorkload, "workload/delivery.yaml": existingDelivery} {
		t, err := template.New(name).Funcs(template.FuncMap{"yaml": flowYAML}).Parse(text)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, o); err != nil {
			return nil, err
		}
		files[name] = out.Bytes()
	}
	if o.Form != Chart {
		return files, nil
	}
	for _, environment := range o.Environments {
		content := []byte("# Values for " + environment + ", in addition to the chart's own.\n{}\n")
		if from := o.Values[environment]; from != "" {
			content = append([]byte("# Copied from "+path.Join(o.Root, from)+".\n"), readBounded(tree, from)...)
		}
		files[path.Join("workload/values", environment, "values.yaml")] = content
	}
	return files, nil
}
