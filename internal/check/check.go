package check

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Policy configures the rules.
type Policy struct {
	// Environment is the name of the manifests' environment, a variable of custom rules.
	Environment string
	// Levels override [DefaultLevels].
	Levels map[string]Level
	// Rules are custom rules.
	Rules []Rule
	// Scans are programs that scan images and charts. A [Checker] does not run them.
	Scans []Scan
	// Unreadable are check policies that cannot be read. If there are any, nothing passes.
	Unreadable []string
	// Definitions are CustomResourceDefinitions, by display name, whose kinds are checked as well.
	Definitions map[string][]byte
	// Exceptions are findings that are accepted. See [Policy.At].
	Exceptions []Exception
	// Schemas to check objects with. Default: those of Kubernetes and of Definitions.
	Schemas *Schemas
}

// RulePolicy is the rule that check policies must be readable.
const RulePolicy = "policy"

// DefaultLevels returns the levels of the built-in rules. Manifests that no cluster accepts, and credentials, are
// refused. Insecure settings are warnings or information.
func DefaultLevels() map[string]Level {
	return map[string]Level{
		RulePolicy: Refuse, RuleSchema: Refuse, RuleIdentity: Refuse, RuleImage: Refuse, RuleUnknownKind: Inform, RuleSecret: Refuse, RulePlainSecret: Warn,
		RulePrivileged: Warn, RuleHostPath: Warn, RuleHostNamespaces: Warn, RuleHostPort: Warn, RuleCapabilities: Inform,
		RuleEscalation: Inform, RuleRoot: Inform, RuleWritableRoot: Inform, RuleLimits: Warn, RuleLatestTag: Warn, RuleWildcardPermission: Warn,
		RuleProbes: Inform, RuleDanglingService: Inform,
		RuleClusterScoped: Refuse, RuleForeignNamespace: Refuse, RuleCustomResource: Warn,
	}
}

// Checker checks manifests by a policy. It is safe for concurrent use.
type Checker struct {
	policy Policy
	levels map[string]Level
	rules  []compiledRule
	broken []Finding // about the policy itself; part of every result

	structures structures

	mu    sync.Mutex
	known map[[sha256.Size]byte][]Finding // cached by file content
}

// maxKnown bounds the memory of a checker.
const maxKnown = 1 << 20

// New returns a checker for a policy. A custom rule that cannot be used is a finding of every check, with level [Refuse].
func New(policy Policy) (*Checker, error) {
	c := &Checker{policy: policy, levels: DefaultLevels(), known: map[[sha256.Size]byte][]Finding{}}
	if c.policy.Schemas == nil {
		c.policy.Schemas, c.broken = NewSchemas(policy.Definitions)
	}
	for _, r := range policy.Rules {
		if _, taken := c.levels[r.Name]; taken || r.Name == "" {
			return nil, fmt.Errorf("rule %q: the name is empty or already used; give it a unique name", r.Name)
		}
		c.levels[r.Name] = Warn
		if r.Level != "" {
			c.levels[r.Name] = r.Level
		}
	}
	for _, s := range policy.Scans {
		if _, taken := c.levels[s.Name]; taken || s.Name == "" {
			return nil, fmt.Errorf("scan %q: the name is empty or already used; give it a unique name", s.Name)
		}
		c.levels[s.Name] = s.Level
	}
	for _, name := range slices.Sorted(maps.Keys(policy.Levels)) {
		if _, known := c.levels[name]; !known {
			return nil, fmt.Errorf("level of %q: unknown rule; the rules are %s", name, strings.Join(slices.Sorted(maps.Keys(c.levels)), ", "))
		}
		c.levels[name] = policy.Levels[name]
	}
	for _, name := range policy.Unreadable {
		c.broken = append(c.broken, Finding{
			Rule: RulePolicy, Level: Refuse, Message: fmt.Sprintf("the check policy %q cannot be read, so its rules are unknown", name), Hint: "correct it",
		})
	}
	compiled, err := compile(policy.Rules)
	if err != nil {
		return nil, err
	}
	for _, r := range compiled {
		if r.broken != nil {
			c.broken = append(c.broken, Finding{Rule: r.Name, Level: Refuse, Message: fmt.Sprintf("the rule cannot be used: %v", r.broken), Hint: "correct its expression"})
			continue
		}
		c.rules = append(c.rules, r)
	}
	return c, nil
}

// Check returns the sorted findings of all rules in files, path to content. It is deterministic, and keeps only some of the files in memory.
func (c *Checker) Check(files iter.Seq2[string, []byte]) []Finding {
	found := slices.Clone(c.broken)
	var some []file
	size := 0
	for path, content := range files {
		some, size = append(some, file{path, content}), size+len(content)
		if size > maxBatch {
			found, some, size = append(found, c.each(some)...), some[:0], 0
		}
	}
	return c.except(oneOfEachKind(sorted(append(found, c.each(some)...))))
}

type file struct {
	path    string
	content []byte
}

// maxBatch is the size of the files that are checked at the same time, in bytes.
const maxBatch = 4 << 20

// each checks files on all cores.
func (c *Checker) each(files []file) []Finding {
	found := make([][]Finding, len(files))
	var wait sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(files))
	for worker := range workers {
		wait.Go(func() {
			for i := worker; i < len(files); i += workers {
				found[i] = c.once(files[i].path, files[i].content)
			}
		})
	}
	wait.Wait()
	return slices.Concat(found...)
}

// oneOfEachKind keeps one finding for each kind without a schema.
func oneOfEachKind(findings []Finding) []Finding {
	seen := map[string]bool{}
	return slices.DeleteFunc(findings, func(f Finding) bool {
		again := f.Rule == RuleUnknownKind && seen[f.Message]
		seen[f.Message] = true
		return again
	})
}

// once checks a file, or returns the cached findings for its content. Nothing is cached about files that are quickly known to have none.
func (c *Checker) once(file string, data []byte) []Finding {
	if c.clean(file, data) {
		return nil
	}
	hash := sha256.New()
	hash.Write(strconv.AppendBool(nil, isManifest(file)))
	hash.Write(data)
	key := [sha256.Size]byte(hash.Sum(nil))
	c.mu.Lock()
	findings, known := c.known[key]
	c.mu.Unlock()
	if known {
		findings = slices.Clone(findings)
		for i := range findings {
			findings[i].File = file
		}
		return findings
	}
	findings = c.file(file, data)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) < maxKnown {
		c.known[key] = slices.Clone(findings)
	}
	return findings
}

// clean reports whether a file is known to have no findings, without parsing it.
func (c *Checker) clean(file string, data []byte) bool {
	if isManifest(file) && !c.structures.clean(data, func(all []*manifest) bool { return len(c.leveled(c.objects(all))) == 0 }) {
		return false
	}
	return c.levels[RuleSecret] == Off || len(secrets(file, data)) == 0
}

// Credentials returns the sorted findings about credentials in files that are not manifests, path to content.
func (c *Checker) Credentials(files map[string][]byte) []Finding {
	var findings []Finding
	for _, name := range slices.Sorted(maps.Keys(files)) {
		findings = append(findings, secrets(name, files[name])...)
	}
	return c.except(sorted(c.leveled(findings)))
}

// Exposed returns the findings about credentials among those of files, by file, the first one of each, if the policy refuses them. Such a file
// must not leave the process.
func (c *Checker) Exposed(findings []Finding) map[string]Finding {
	exposed := map[string]Finding{}
	if !c.Hides() {
		return exposed
	}
	for _, f := range findings {
		if _, known := exposed[f.File]; f.Rule == RuleSecret && f.Exception == "" && !known {
			exposed[f.File] = f
		}
	}
	return exposed
}

// Hides reports whether the policy refuses credentials, so that texts must not show what looks like one.
func (c *Checker) Hides() bool { return c.levels[RuleSecret] == Refuse }

// isManifest reports whether reconcilers apply a file: YAML outside of hidden folders, other than kustomization.yaml.
func isManifest(file string) bool {
	folder, name := path.Split("/" + file)
	ext := path.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && strings.TrimSuffix(name, ext) != "kustomization" && !strings.Contains(folder, "/.")
}

// file checks one file. Files that are not manifests are only searched for credentials.
func (c *Checker) file(file string, data []byte) []Finding {
	var findings []Finding
	if c.levels[RuleSecret] != Off {
		findings = append(findings, secrets(file, data)...)
	}
	if isManifest(file) {
		manifests, broken := parse(file, data)
		for i := range findings {
			findings[i].Object, findings[i].Path = placed(manifests, findings[i].Line)
		}
		findings = append(append(findings, broken...), c.objects(manifests)...)
	}
	return c.leveled(findings)
}

// objects runs all rules on the objects of a file.
func (c *Checker) objects(manifests []*manifest) []Finding {
	var findings []Finding
	for _, m := range manifests {
		findings = append(findings, c.object(m)...)
	}
	if c.levels[RuleIdentity] != Off {
		findings = append(findings, identities(manifests)...)
	}
	if c.levels[RuleDanglingService] != Off {
		findings = append(findings, c.policy.Schemas.danglingServices(manifests)...)
	}
	return findings
}

// object runs all rules on an object.
func (c *Checker) object(m *manifest) []Finding {
	findings := c.policy.Schemas.check(m)
	findings = append(findings, plainSecret(m)...)
	for _, rule := range securityRules {
		if slices.ContainsFunc(rule.names, func(name string) bool { return c.levels[name] != Off }) {
			findings = append(findings, rule.look(m)...)
		}
	}
	for i := range c.rules {
		findings = append(findings, c.rules[i].check(m, c.policy.Environment)...)
	}
	return findings
}

// leveled sets the levels of findings without one, and removes those of rules that are off.
func (c *Checker) leveled(findings []Finding) []Finding {
	wanted := findings[:0]
	for _, f := range findings {
		if level := c.levels[f.Rule]; f.Level == "" || level == Off {
			f.Level = level
		}
		if f.Level != Off {
			wanted = append(wanted, f)
		}
	}
	return wanted
}
