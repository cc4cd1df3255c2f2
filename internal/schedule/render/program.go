package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// mainName is the name of a text's main template.
const mainName = "manifest"

// program is a template text, parsed and rewritten so that its execution is bounded and traced.
// It is immutable and shared by all workers; each binds it to its own functions.
type program struct {
	text      string
	trees     map[string]*parse.Tree
	functions []string   // names of all functions that the text calls, sorted
	mutates   bool       // the text calls a function that changes a map in place
	costs     []float64  // units of work of each traced block, by its number
	runs      []sequence // texts and keys that are written by one call, by its number
	actions   []action   // sorted by position
	compiled  *compiled  // nil if only text/template can execute the main template
}

// action is a pipeline of the text, for messages.
type action struct {
	pos  parse.Pos
	text string
	// keys are the key chains in the pipeline that start at the data, such as [Manifests path].
	keys [][]string
}

// syntaxError is a mistake in a text that is found before execution.
type syntaxError struct {
	line          int
	message, hint string
}

func (e *syntaxError) Error() string { return e.message }

// compile parses a text. Data fields in hidden count as unknown. The error is a *syntaxError.
func compile(text string, hidden ...string) (*program, error) {
	if len(text) > maxText {
		return nil, &syntaxError{1, fmt.Sprintf("the template is longer than %d bytes", maxText), "split it into several manifests"}
	}
	trees, err := parseText(text)
	if err != nil {
		return nil, parseProblem(err)
	}
	p := &program{text: text, trees: trees}
	r := rewriter{program: p, hidden: hidden, called: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		r.tree(name, trees[name])
	}
	if r.err != nil {
		return nil, r.err
	}
	p.compiled = compileTree(p)
	p.functions = slices.Sorted(maps.Keys(r.called))
	slices.SortStableFunc(p.actions, func(a, b action) int { return int(a.pos - b.pos) })
	return p, nil
}

// parseText parses a text with the names of all functions that templates can call.
// It returns panics of the parser as errors.
func parseText(text string) (trees map[string]*parse.Tree, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("template: %s:1: %v", mainName, r)
		}
	}()
	trees, err = parse.Parse(mainName, text, "{{", "}}", functionNames())
	if err == nil && trees[mainName] == nil {
		trees[mainName] = &parse.Tree{Name: mainName, ParseName: mainName, Root: &parse.ListNode{NodeType: parse.NodeList}}
	}
	return trees, err
}

// parseProblem extracts line and message from the parser's error, "template: manifest:3: unexpected EOF".
func parseProblem(err error) *syntaxError {
	message := strings.TrimPrefix(err.Error(), "template: "+mainName+":")
	number, rest, _ := strings.Cut(message, ":")
	line, convErr := strconv.Atoi(number)
	if convErr != nil {
		return &syntaxError{line: 1, message: brief(err.Error())}
	}
	rest = strings.TrimSpace(rest)
	if name, ok := unknownFunction(rest); ok {
		return functionProblem(line, name)
	}
	return &syntaxError{line: line, message: brief(rest), hint: mistakeHint(rest)}
}

// unknownFunction returns the name in the parser's message `function "now" not defined`.
func unknownFunction(message string) (string, bool) {
	quoted, ok := strings.CutPrefix(message, "function ")
	if !ok {
		return "", false
	}
	quoted, ok = strings.CutSuffix(quoted, " not defined")
	if !ok {
		return "", false
	}
	name, err := strconv.Unquote(quoted)
	return name, err == nil
}

// line returns the line of a position in the text; the first one is 1.
func (p *program) line(pos parse.Pos) int {
	return 1 + strings.Count(p.text[:min(int(pos), len(p.text))], "\n")
}

// at returns the action at a byte offset, or nil before the first one.
func (p *program) at(offset int) *action {
	i, found := slices.BinarySearchFunc(p.actions, parse.Pos(offset), func(a action, pos parse.Pos) int { return int(a.pos - pos) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return &p.actions[i]
}

// brief shortens a message that can quote a value of any length.
func brief(message string) string {
	const limit = 300
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit], "") + "..."
}
