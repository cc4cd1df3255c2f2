package bundle

import (
	"bytes"
	"encoding/hex"
	"strconv"
)

// scanInventory parses an inventory that is written exactly as [encodeInventory] does, as nearly all are. It takes a tenth of the time of
// encoding/json, which would decode for seconds what a large branch records. ok is false for others.
func scanInventory(content []byte, known *names) (inv *inventory, ok bool) {
	s := scanner{rest: content, names: known}
	inv = &inventory{Version: inventoryVersion, Sources: map[string][]string{}}
	s.expect("{\n  \"version\": " + strconv.Itoa(inventoryVersion) + ",\n  \"environment\": ")
	inv.Environment = s.name()
	if s.skip(",\n  \"cluster\": ") {
		inv.Cluster = s.name()
	}
	s.expect(",\n  \"clusterType\": ")
	inv.ClusterType = s.name()
	s.expect(",\n  \"readme\": ")
	inv.Readme = s.name()
	s.expect(",\n  \"sources\": {")
	for last := ""; s.skip("\n    "); {
		id := s.name()
		s.expect(": ")
		inv.Sources[id] = s.list()
		s.ascending(&last, id)
		if !s.skip(",") {
			break
		}
	}
	s.expect("\n  },\n  \"assignments\": {")
	for last := ""; s.skip("\n    "); {
		inv.Assignments = append(inv.Assignments, s.assignment())
		s.ascending(&last, inv.Assignments[len(inv.Assignments)-1].Target)
		if !s.skip(",") {
			break
		}
	}
	s.expect("\n  }\n}\n")
	return inv, !s.failed && len(s.rest) == 0
}

// names keeps one copy of equal strings, and of equal lists of them: most of an inventory are names that others have, too.
// It is not safe for concurrent use. Nil keeps none.
type names struct {
	texts map[string]string
	lists map[string][]string
}

func newNames() *names { return &names{texts: map[string]string{}, lists: map[string][]string{}} }

// scanner reads JSON of a fixed form from the beginning of rest, until something else is there.
type scanner struct {
	rest   []byte
	names  *names
	failed bool
}

// skip skips a text, and reports whether it was there.
func (s *scanner) skip(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

func (s *scanner) expect(text string) {
	if !s.skip(text) {
		s.failed, s.rest = true, nil
	}
}

// ascending fails unless a key comes after the last one, so that no key is there twice.
func (s *scanner) ascending(last *string, key string) {
	if key <= *last {
		s.failed, s.rest = true, nil
	}
	*last = key
}

// text returns a string without special characters.
func (s *scanner) text() []byte {
	s.expect(`"`)
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 {
		s.failed, s.rest = true, nil
		return nil
	}
	text := s.rest[:end]
	for _, c := range text {
		if c < ' ' || c > '~' || c == '\\' {
			s.failed, s.rest = true, nil
			return nil
		}
	}
	s.rest = s.rest[end+1:]
	return text
}

func (s *scanner) name() string {
	text := s.text()
	if s.names == nil {
		return string(text)
	}
	name, ok := s.names.texts[string(text)]
	if !ok {
		name = string(text)
		s.names.texts[name] = name
	}
	return name
}

// list returns a list of strings.
func (s *scanner) list() []string {
	start := s.rest
	s.expect("[")
	end := bytes.IndexByte(s.rest, ']')
	if s.names != nil && end >= 0 {
		if known, ok := s.names.lists[string(start[:end+2])]; ok {
			s.rest = start[end+2:]
			return known
		}
	}
	var list []string
	for !s.skip("]") && !s.failed {
		if len(list) > 0 {
			s.expect(", ")
		}
		list = append(list, s.name())
	}
	if s.names != nil && !s.failed {
		s.names.lists[string(start[:len(start)-len(s.rest)])] = list
	}
	return list
}

func (s *scanner) assignment() inventoryAssignment {
	a := inventoryAssignment{Target: s.name()}
	s.expect(": {")
	field := func(name string) string {
		if !s.skip(`"` + name + `": `) {
			return ""
		}
		value := s.name()
		s.expect(", ")
		return value
	}
	a.Workload, a.Workspace, a.Registration = field("workload"), field("workspace"), field("registration")
	list := func(name string) []string {
		if !s.skip(`"` + name + `": `) {
			return nil
		}
		values := s.list()
		s.expect(", ")
		return values
	}
	a.Policies, a.DependsOn = list("policies"), list("dependsOn")
	a.Sources = field("sources")
	s.expect(`"files": {`)
	a.Files = make([]TreeEntry, 0, 3)
	for last := ""; !s.skip("}}") && !s.failed; {
		if len(a.Files) > 0 {
			s.expect(", ")
		}
		f := TreeEntry{Name: s.name()}
		s.expect(": ")
		digits := s.text()
		if n, err := hex.Decode(f.Hash[:], digits[:min(len(digits), 2*len(f.Hash))]); err != nil || n != len(f.Hash) || len(digits) != 2*n {
			s.failed, s.rest = true, nil
		}
		s.ascending(&last, f.Name)
		a.Files = append(a.Files, f)
	}
	return a
}
