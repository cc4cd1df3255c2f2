package fleet

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Read parses and decodes the files of a source, on all cores.
// Unknown kinds are a warning, files that are not Kubernetes documents are skipped,
// and no problem hides another. The result does not depend on the order of the files.
// cache is optional.
func Read(cache *Cache, source Source) *Objects {
	o := &Objects{Source: source, foreign: map[Problem]bool{}}
	documents := 0
	source.inBudget(cache, func(p *parsed, file string) {
		o.addFile(p, file)
		documents += len(p.documents) + len(p.unreadable)
	})
	if problem, ok := source.Hides(); ok && documents == 0 {
		o.Problems = append(o.Problems, problem)
	}
	o.leaveOutDuplicates()
	o.Problems = SortProblems(o.Problems)
	slices.SortFunc(o.Unreadable, compareUnreadable)
	return o
}

// inBudget calls a function with the content of each file, by path. Nothing is known of what is beyond the budget.
func (s Source) inBudget(cache *Cache, use func(p *parsed, file string)) {
	budget := s.Budget
	if budget == (Budget{}) {
		budget = ControlPlaneBudget
	}
	files := slices.SortedFunc(slices.Values(s.Files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	left := budget
	for i, p := range parseAll(cache, files, budget) {
		if p != nil {
			left.Bytes -= p.size
			left.Documents -= p.count
		}
		if p == nil || left.Bytes < 0 || left.Documents < 0 {
			for j, f := range files[i:] {
				lost := &parsed{unreadable: []Unreadable{{}}}
				if j == 0 {
					lost = &parsed{}
					lost.lose(budget.beyond(len(files) - i))
				}
				use(lost, f.Path)
			}
			return
		}
		use(p, files[i].Path)
	}
}

// parseAll parses the files on all cores. The results are in the order of the files. Once the files before one are beyond the budget, it is
// not read, and has no result.
func parseAll(cache *Cache, files []File, budget Budget) []*parsed {
	results := make([]*parsed, len(files))
	var next, size, documents atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				// All that was counted comes before this file, because files are begun in their order.
				if size.Load() > int64(budget.Bytes) || documents.Load() > int64(budget.Documents) {
					return
				}
				p := files[i].parse(cache)
				size.Add(int64(p.size))
				documents.Add(int64(p.count))
				results[i] = p
			}
		})
	}
	workers.Wait()
	return results
}

// parse returns the content of the file, from the cache if possible.
// Read errors are not cached: the next attempt may succeed.
func (f File) parse(cache *Cache) *parsed {
	p := &parsed{}
	switch {
	case f.Symlink:
		p.lose(Problem{
			Severity: SeverityWarning, Kind: KindSymlink,
			Message: "symbolic links are not followed", Hint: "replace it by the file, or list the link in .kalypsoignore",
		})
		return p
	case f.Size > MaxFileSize:
		p.lose(tooLarge(f.Size))
		return p
	}
	if known := cache.get(f.ID); known != nil {
		return known
	}
	data, err := f.Read()
	if err != nil {
		p.lose(Problem{Severity: SeverityError, Kind: KindUnreachable, Message: fmt.Sprintf("read the file: %v", err)})
		return p
	}
	p = parse(data)
	if len(p.unreadable) > 0 {
		noTemplate, noExclusion := !mayHold(data, kindTemplate), !mayHold(bytes.ToLower(data), "mode")
		for i := range p.unreadable {
			if p.opaque {
				break
			}
			p.unreadable[i].NoTemplate, p.unreadable[i].NoExclusion = noTemplate, noExclusion || p.unreadable[i].NoExclusion
		}
	}
	cache.put(f.ID, p)
	return p
}

// mayHold reports whether a file may have a word in one of its objects, even if it cannot be parsed.
func mayHold(data []byte, word string) bool {
	return bytes.Contains(data, []byte(word)) || bytes.Contains(data, []byte(`\x`)) || bytes.Contains(bytes.ToLower(data), []byte(`\u`))
}

// addFile adds the content of a file, with positions in that file.
// It copies everything, because the content may be shared by several files.
func (o *Objects) addFile(p *parsed, file string) {
	for _, problem := range p.problems {
		problem.Position = problem.Position.in(o.Source, file)
		o.Problems = append(o.Problems, problem)
	}
	for _, problem := range p.foreign {
		problem.Position = problem.Position.in(o.Source, file)
		o.Problems = append(o.Problems, problem)
		o.foreign[problem] = true
	}
	for _, u := range p.unreadable {
		u.Position = u.Position.in(o.Source, file)
		o.Unreadable = append(o.Unreadable, u)
	}
	for _, u := range p.unmarked {
		u.Position = u.Position.in(o.Source, file)
		o.Unmarked = append(o.Unmarked, u)
	}
	for _, d := range p.documents {
		o.add(d, file)
	}
}

// leaveOutDuplicates sorts each list by name and removes the duplicates.
func (o *Objects) leaveOutDuplicates() {
	o.Environments = unique(o, o.Environments)
	o.BaseRepos = unique(o, o.BaseRepos)
	o.GitOpsRepos = unique(o, o.GitOpsRepos)
	o.ConfigRepos = unique(o, o.ConfigRepos)
	o.Registrations = unique(o, o.Registrations)
	o.Workloads = unique(o, o.Workloads)
	o.Targets = unique(o, o.Targets)
	o.Policies = unique(o, o.Policies)
	o.ClusterTypes = unique(o, o.ClusterTypes)
	o.Clusters = unique(o, o.Clusters)
	o.Configs = unique(o, o.Configs)
	o.Schemas = unique(o, o.Schemas)
	o.Templates = unique(o, o.Templates)
	o.Grants = unique(o, o.Grants)
	o.CheckPolicies = unique(o, o.CheckPolicies)
	o.Definitions = unique(o, o.Definitions)
	o.AdmissionPolicies = unique(o, o.AdmissionPolicies)
}

// unique returns the objects sorted by name, without duplicates.
func unique[W written](o *Objects, list []W) []W {
	kept, problems, unreadable := distinct(list)
	o.Problems = append(o.Problems, problems...)
	o.Unreadable = append(o.Unreadable, unreadable...)
	return kept
}

// distinct sorts objects by name and separates all objects with the same name. The kept ones are in the memory of the list.
func distinct[W written](list []W) (kept []W, problems []Problem, unreadable []Unreadable) {
	slices.SortFunc(list, byName)
	kept = list[:0]
	for len(list) > 0 {
		name := list[0].ref().Name
		n := 1
		for n < len(list) && list[n].ref().Name == name {
			n++
		}
		if n == 1 {
			kept = append(kept, list[0])
		} else {
			problems = append(problems, duplicate(list[:n]))
			for _, w := range list[:n] {
				unreadable = append(unreadable, Unreadable{Ref: w.ref(), Labels: w.labelled(), Position: w.position()})
			}
		}
		list = list[n:]
	}
	return kept, problems, unreadable
}

// duplicate is the problem of objects of one kind and name.
func duplicate[W written](list []W) Problem {
	places := make([]string, len(list))
	for i, w := range list {
		places[i] = w.position().String()
		if source := w.position().Source; source != list[0].position().Source {
			places[i] += " of " + source
		}
	}
	return Problem{
		Severity: SeverityError, Kind: KindDuplicate, Object: list[0].ref(), Position: list[0].position(),
		Message: "defined more than once: " + strings.Join(places, ", "), Hint: "rename or remove all but one",
	}
}

func compareUnreadable(a, b Unreadable) int {
	return cmp.Or(
		cmp.Compare(a.Ref.Kind, b.Ref.Kind), cmp.Compare(a.Ref.Name, b.Ref.Name),
		comparePositions(a.Position, b.Position),
		cmp.Compare(a.Owner.Workspace, b.Owner.Workspace), cmp.Compare(a.Owner.Registration, b.Owner.Registration),
	)
}
