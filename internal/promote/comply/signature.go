package comply

import (
	"regexp"
	"strings"
)

// Signature returns what errors with the same cause have in common: the message without what differs between two clusters, or between two
// tries. These are the given names, numbers of things, times, durations, hashes, addresses and the generated ends of names. Everything else
// tells causes apart and is kept, such as status and exit codes, lines, ports, versions and all other names: two groups for one cause
// are a nuisance, but one group for two causes hides a failure. If an admission webhook is the cause, the object that it denied is not.
func Signature(message string, names ...string) string {
	words := strings.Fields(denied.ReplaceAllString(message, "${1}"+hole+"$2"))
	before := ""
	for i, word := range words {
		words[i] = common(word, before, names)
		before = word
	}
	return strings.Join(words, " ")
}

// hole stands for what differs.
const hole = "#"

// punctuation surrounds words in messages.
const punctuation = `"'` + "`" + `()[]{}<>,;:.!?`

// common returns a word without what differs; before is the word before it.
func common(word, before string, names []string) string {
	core := strings.Trim(word, punctuation)
	if core == "" {
		return word
	}
	start := strings.Index(word, core)
	left, right := word[:start], word[start+len(core):]
	if key, value, ok := strings.Cut(core, "="); ok && value != "" {
		return left + key + "=" + common(value, key, names) + right
	}
	return left + commonCore(core, before, names) + right
}

var (
	// denied matches the object before what an admission webhook answered, as kstatus and the API server write it.
	denied = regexp.MustCompile(`(^|: )[A-Z][A-Za-z]*/[^ :]+( dry-run failed[^:]*: (admission webhook|(Internal error occurred: )?failed calling webhook) ")`)
	// coded matches a word before a number that tells causes apart.
	coded = regexp.MustCompile(`(?i)^["'(\[]*(https?|[a-z_-]*code|[a-z_-]*status|err(or|no)?|exit(ed)?|signal|line|column|port|version|rule|step|phase)["'):\]]*$`)
	// statusCode matches the status of a failed HTTP request.
	statusCode = regexp.MustCompile(`^[45][0-9][0-9]$`)
	differing  = regexp.MustCompile(`^(` + strings.Join([]string{
		`[0-9]+([.,][0-9]+)?%?`,                                     // numbers
		`[0-9]+/[0-9]+`,                                             // 3/5
		`[0-9]+(\.[0-9]+)?([KMGTPE]i?|k|m|[KMGT]i?B)`,               // quantities
		`([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+`,                 // durations
		`[0-9]{4}-[0-9]{2}-[0-9]{2}([T_][0-9:.]+(Z|[+-][0-9:]+)?)?`, // dates
		`[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z?`,              // times
		`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,                 // UUIDs
	}, "|") + `)$`)
	hash    = regexp.MustCompile(`^(([a-zA-Z0-9._/-]+@)?sha(1|256|512):)?([0-9a-f]{7,128})$`)
	address = regexp.MustCompile(`\b([0-9]{1,3}\.){3}[0-9]{1,3}\b`)
	// generated matches the parts of names that are different in each cluster: numbers, and what Kubernetes adds to the names of Pods.
	generated = regexp.MustCompile(`^([0-9]+|[a-z0-9]*[0-9][a-z0-9]*)$`)
	lowerName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
)

func commonCore(core, before string, names []string) string {
	for _, name := range names {
		if name != "" && core == name {
			return hole
		}
	}
	if !strings.ContainsAny(core, "0123456789") || coded.MatchString(before) || statusCode.MatchString(core) {
		return core
	}
	if m := hash.FindStringSubmatch(core); m != nil && strings.ContainsAny(m[4], "0123456789") {
		return m[1] + hole
	}
	if differing.MatchString(core) {
		return hole
	}
	if address.MatchString(core) {
		return address.ReplaceAllString(core, hole)
	}
	parts := strings.Split(core, "/")
	for i, part := range parts {
		parts[i] = commonName(part, names)
	}
	return strings.Join(parts, "/")
}

// shortest is the length of the shortest generated part of a name, apart from numbers.
const shortest = 5

// commonName returns a name without its generated end.
func commonName(name string, names []string) string {
	for _, one := range names {
		if one != "" && name == one {
			return hole
		}
	}
	if !lowerName.MatchString(name) {
		return name
	}
	parts := strings.Split(name, "-")
	end := len(parts)
	for end > 1 && generated.MatchString(parts[end-1]) && (len(parts[end-1]) >= shortest || strings.Trim(parts[end-1], "0123456789") == "") {
		end--
	}
	if end == len(parts) {
		return name
	}
	return strings.Join(parts[:end], "-") + "-" + hole
}
