package check

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Policy says which rules count, and how much.
type Policy struct {
	// Environment is the name of the environment that the manifests are for; own rules may look at it.
	Environment string
	// Levels are those of rules whose level is another one than by default: [DefaultLevels].
	Levels map[string]Level
	// Rules are the teams' own.
	Rules []Rule
	// Scans are the programs that look at images and charts. They are not part of what a [Checker] does.
	Scans []Scan
	// Unreadable are policies whose rules nobody knows; nothing passes while there are any.
	Unreadable []string
	// Definitions are CustomResourceDefinitions, by what people call them, whose kinds are checked as well.
	Definitions map[string][]byte
	// Schemas are what objects are checked with. nil: those of Kubernetes, and of Definitions.
	Schemas *Schemas
}

// RulePolicy is the rule that check policies can be read.
const RulePolicy = "policy"

// DefaultLevels are the levels of the rules that come with Kalypso. What no cluster would take, and what Git should never have
// seen, is refused; what is less safe than it could be warns or informs.
func DefaultLevels() map[string]Level {
	return map[string]Level{
		RulePolicy: Refuse, RuleSchema: Refuse, RuleUnknownKind: Inform, RuleSecret: Refuse, RulePlainSecret: Warn,
		RulePrivileged: Warn, RuleHostPath: Warn, RuleHostNamespaces: Warn, RuleHostPort: Warn, RuleCapabilities: Inform,
		RuleEscalation: Inform, RuleRoot: Inform, RuleWritableRoot: Inform, RuleLimits: Warn, RuleLatestTag: Warn, RuleWildcardPermission: Warn,
	}
}

// Checker checks manifests by a policy. It is safe for concurrent use.
type Checker struct {
	policy Policy
	levels map[string]Level
	rules  []compiledRule
	// broken are findings about the policy itself; they are part of every result.
	broken []Finding

	mu sync.Mutex
	// known is what was found in files, by their content, so that none is looked at twice.
	known map[[sha256.Size]byte][]Finding
}

// maxKnown bounds the memory of a checker.
const maxKnown = 1 << 20

// New prepares the checks of a policy. A rule of its own that cannot be used is a finding of every check, which refuses.
func New(policy Policy) (*Checker, error) {
	c := &Checker{policy: policy, levels: DefaultLevels(), known: map[[sha256.Size]byte][]Finding{}}
	if c.policy.Schemas == nil {
		c.policy.Schemas, c.broken = NewSchemas(policy.Definitions)
	}
	for _, r := range policy.Rules {
		if _, taken := c.levels[r.Name]; taken || r.Name == "" {
			return nil, fmt.Errorf("rule %q: the name is taken, or empty; give it one of its own", r.Name)
		}
		c.levels[r.Name] = Warn
		if r.Level != "" {
			c.levels[r.Name] = r.Level
		}
	}
	for _, s := range policy.Scans {
		if _, taken := c.levels[s.Name]; taken || s.Name == "" {
			return nil, fmt.Errorf("scan %q: the name is taken, or empty; give it one of its own", s.Name)
		}
		c.levels[s.Name] = s.Level
	}
	for _, name := range slices.Sorted(maps.Keys(policy.Levels)) {
		if _, known := c.levels[name]; !known {
			return nil, fmt.Errorf("level of %q: there is no such rule; there are %s", name, strings.Join(slices.Sorted(maps.Keys(c.levels)), ", "))
		}
		c.levels[name] = policy.Levels[name]
	}
	for _, name := range policy.Unreadable {
		c.broken = append(c.broken, Finding{
			Rule: RulePolicy, Level: Refuse, Message: fmt.Sprintf("the check policy %q cannot be read, so that nobody knows its rules", name), Hint: "correct it",
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

// Check returns what the rules find in files, by path. The result is sorted, and the same for the same files.
func (c *Checker) Check(files map[string][]byte) []Finding {
	names := slices.Sorted(maps.Keys(files))
	found := make([][]Finding, len(names))
	var wait sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(names))
	for worker := range workers {
		wait.Go(func() {
			for i := worker; i < len(names); i += workers {
				found[i] = c.once(names[i], files[names[i]])
			}
		})
	}
	wait.Wait()
	return oneOfEachKind(sorted(append(slices.Clone(c.broken), slices.Concat(found...)...)))
}

// oneOfEachKind leaves one finding for each kind without a schema: the others would say the same.
func oneOfEachKind(findings []Finding) []Finding {
	said := map[string]bool{}
	return slices.DeleteFunc(findings, func(f Finding) bool {
		again := f.Rule == RuleUnknownKind && said[f.Message]
		said[f.Message] = true
		return again
	})
}

// once checks a file unless its content was checked before.
func (c *Checker) once(file string, data []byte) []Finding {
	key := sha256.Sum256(append([]byte(strconv.FormatBool(isManifest(file))), data...))
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

// isManifest says whether reconcilers apply a file: YAML that lies in no hidden folder, where records are kept,
// and that does not only tell kustomize what to do.
func isManifest(file string) bool {
	folder, name := path.Split("/" + file)
	ext := path.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && strings.TrimSuffix(name, ext) != "kustomization" && !strings.Contains(folder, "/.")
}

// file checks one file. Files that nobody applies are only searched for credentials.
func (c *Checker) file(file string, data []byte) []Finding {
	var findings []Finding
	if c.levels[RuleSecret] != Off {
		findings = append(findings, secrets(file, data)...)
	}
	if isManifest(file) {
		manifests, broken := parse(file, data)
		findings = append(findings, broken...)
		for _, m := range manifests {
			findings = append(findings, c.object(m)...)
		}
	}
	return c.leveled(findings)
}

// object asks all rules about an object.
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

// leveled gives findings their levels, and leaves out those that nobody wants.
func (c *Checker) leveled(findings []Finding) []Finding {
	wanted := findings[:0]
	for _, f := range findings {
		if f.Level = c.levels[f.Rule]; f.Level != Off {
			wanted = append(wanted, f)
		}
	}
	return wanted
}
