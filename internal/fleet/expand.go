package fleet

import (
	"fmt"
	"iter"

	"go.yaml.in/yaml/v3"
)

// expander replaces the aliases and merge keys in the documents of one file.
// It copies nothing: an alias becomes a second pointer to the same node. It counts the nodes that a walk over the result
// visits, so that later walks are safe from documents that multiply or contain themselves.
type expander struct {
	left int // nodes that the file can still have
	// anchored holds the extent of each complete anchor.
	// An alias to an incomplete one is within it.
	anchored map[*yaml.Node]extent
}

// extent is the size of a tree with its aliases replaced.
type extent struct {
	nodes, height int
}

// expand expands the document, and adds the lines before its chunk to its positions.
func (e *expander) expand(root *yaml.Node, before int) *yamlError {
	e.anchored = nil
	size, err := e.walk(root, before, 1)
	if err != nil {
		return err
	}
	e.left -= size.nodes
	return nil
}

func (e *expander) walk(n *yaml.Node, before, depth int) (extent, *yamlError) {
	n.Line += before
	if depth > MaxDepth {
		return extent{}, tooDeep(n)
	}
	size := extent{nodes: 1, height: 1}
	for i, child := range n.Content {
		inner, err := e.child(n, i, before, depth)
		if err != nil {
			return extent{}, err
		}
		size.nodes += inner.nodes
		size.height = max(size.height, inner.height+1)
		if size.nodes > e.left {
			return extent{}, &yamlError{KindYAMLBounds, child.Line, fmt.Sprintf("the file has more than %d YAML nodes with its aliases replaced", MaxNodes)}
		}
	}
	if n.Kind == yaml.MappingNode {
		if err := merge(n); err != nil {
			return extent{}, err
		}
	}
	if n.Anchor != "" {
		if e.anchored == nil {
			e.anchored = map[*yaml.Node]extent{}
		}
		e.anchored[n] = size
	}
	return size, nil
}

// child expands the i-th child of n and returns its extent.
func (e *expander) child(n *yaml.Node, i, before, depth int) (extent, *yamlError) {
	child := n.Content[i]
	if child.Kind != yaml.AliasNode {
		return e.walk(child, before, depth+1)
	}
	child.Line += before
	size, complete := e.anchored[child.Alias]
	switch {
	case !complete:
		return extent{}, &yamlError{KindYAMLBounds, child.Line, fmt.Sprintf("the alias %s refers to a value that contains it", quoteShort(child.Value))}
	case depth+size.height > MaxDepth:
		return extent{}, tooDeep(child)
	}
	n.Content[i] = child.Alias
	return size, nil
}

func tooDeep(n *yaml.Node) *yamlError {
	return &yamlError{KindYAMLBounds, n.Line, fmt.Sprintf("maps and lists nest deeper than %d levels", MaxDepth)}
}

// merge replaces the merge keys ("<<") of a map by the pairs of their maps. The map's own keys win over them,
// and earlier maps over later ones.
func merge(n *yaml.Node) *yamlError {
	if !hasMergeKey(n) {
		return nil
	}
	var own, sources []*yaml.Node
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		switch {
		case key.Tag != mergeTag:
			own = append(own, key, value)
			seen[key.Value] = true
		case value.Kind == yaml.SequenceNode:
			sources = append(sources, value.Content...)
		default:
			sources = append(sources, value)
		}
	}
	for _, source := range sources {
		if source.Kind != yaml.MappingNode {
			return &yamlError{KindYAMLSyntax, n.Line, `the value of a merge key ("<<") must be a map or a list of maps`}
		}
		for key, value := range pairs(source) {
			if !seen[key.Value] {
				seen[key.Value] = true
				own = append(own, key, value)
			}
		}
	}
	n.Content = own
	return nil
}

const mergeTag = "!!merge"

func hasMergeKey(n *yaml.Node) bool {
	for key := range pairs(n) {
		if key.Tag == mergeTag {
			return true
		}
	}
	return false
}

// pairs yields the keys and values of a map in the order in which they are written.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}
