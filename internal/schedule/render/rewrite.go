package render

import (
	"fmt"
	"slices"
	"text/template/parse"

	"github.com/kalypso-io/kalypso/internal/chart/meter"
)

// Names of the functions that the rewriter inserts into a tree. The parser does not know them,
// so that no text can call them.
const (
	enterFunc = "__enter" // at the beginning of a template's body
	leaveFunc = "__leave" // at its end
	atFunc    = "__at"    // at the beginning of every other block
	overFunc  = "__over"  // around what a loop runs over
	printFunc = "__print" // around what an action prints
	quoteFunc = "__quote" // around what an action prints in double quotes
	runFunc   = "__run"   // instead of adjacent texts and keys
)

// injected are all of them.
var injected = []string{enterFunc, leaveFunc, atFunc, overFunc, printFunc, quoteFunc, runFunc}

// sinkVariable receives the results of injected actions, which text/template would print otherwise.
// No text can use a variable with this name.
const sinkVariable = "$ "

// mutators change a map in place.
var mutators = []string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"}

// rewriter turns the trees of a text into the trees that are executed:
//
//	{{range .Labels}}{{.}}{{end}}
//	{{$ := __enter 0}}{{range .Labels | __over}}{{$ = __at 1}}{{$ = . | __print}}{{end}}{{$ = __leave}}
//
// Every block draws from the budget and adds its number to the trace; all output goes through the worker.
// Adjacent texts and keys of the data become one call, {{$ = __run 0}}.
type rewriter struct {
	program *program
	hidden  []string
	called  map[string]bool
	err     *syntaxError // the first mistake
}

// scope tells what "." and "$" refer to.
type scope struct {
	dot    bool // "." is the assignment's Data
	dollar bool // "$" is
}

// fail records a mistake. The first one in the text is reported.
func (r *rewriter) fail(pos parse.Pos, hint, format string, args ...any) {
	line := r.program.line(pos)
	if r.err == nil || line < r.err.line {
		r.err = &syntaxError{line: line, message: brief(fmt.Sprintf(format, args...)), hint: hint}
	}
}

func (r *rewriter) tree(name string, tree *parse.Tree) {
	isMain := name == mainName
	at := tree.Root.Pos
	id := r.block(tree.Root, scope{dot: isMain, dollar: isMain}, 0)
	enter := call(at, enterFunc, id)
	enter.Pipe.IsAssign = false
	tree.Root.Nodes = slices.Concat([]parse.Node{enter}, tree.Root.Nodes, []parse.Node{call(at, leaveFunc)})
}

// list rewrites a block that is not a template's body.
func (r *rewriter) list(list *parse.ListNode, s scope, depth int) {
	if list == nil {
		return
	}
	runs := len(r.program.runs)
	id := r.block(list, s, depth)
	if len(r.program.runs) > runs && isCall(list.Nodes[0], runFunc) {
		r.program.runs[runs].block = id // the first run of the block begins it, and saves a call
		return
	}
	list.Nodes = slices.Insert(list.Nodes, 0, parse.Node(call(list.Pos, atFunc, id)))
}

// isCall reports whether a node is an injected call of a function.
func isCall(node parse.Node, name string) bool {
	action, ok := node.(*parse.ActionNode)
	return ok && calls(action.Pipe.Cmds[0], name)
}

// block rewrites the nodes of a block and returns its number.
func (r *rewriter) block(list *parse.ListNode, s scope, depth int) int {
	id := len(r.program.costs)
	r.program.costs = append(r.program.costs, 0)
	if depth > maxText/1024 {
		r.fail(list.Pos, "", "blocks are nested more than %d levels deep", maxText/1024)
		return id
	}
	cost := 1
	nodes := make([]parse.Node, 0, len(list.Nodes))
	var pending run
	for _, node := range list.Nodes {
		nodeCost, st, joins := r.join(node, s)
		if joins {
			pending.add(node, st)
		} else {
			nodes = r.flush(nodes, &pending)
			nodeCost = r.node(node, s, depth+1)
			nodes = append(nodes, node)
		}
		cost += nodeCost
	}
	list.Nodes = r.flush(nodes, &pending)
	r.program.costs[id] = float64(meter.PerCall + cost*workPerNode)
	return id
}

// run is a sequence of adjacent nodes that become one call.
type run struct {
	nodes []parse.Node
	steps []step
	reads bool // not all of them are text
}

func (p *run) add(node parse.Node, st step) {
	p.nodes = append(p.nodes, node)
	p.steps = append(p.steps, st)
	p.reads = p.reads || st.text == nil
}

// join checks a node that can be part of a run, and returns its step.
func (r *rewriter) join(node parse.Node, s scope) (cost int, st step, joins bool) {
	switch n := node.(type) {
	case *parse.TextNode:
		return 1, step{text: n.Text}, true
	case *parse.ActionNode:
		if st, joins = stepOf(n, s); joins {
			cost = r.pipe(n.Pipe, s, n.Pos)
		}
		return cost, st, joins
	}
	return 0, step{}, false
}

// flush appends a run to the nodes of a block. Plain text is cheaper without a call.
func (r *rewriter) flush(nodes []parse.Node, pending *run) []parse.Node {
	if pending.reads {
		nodes = append(nodes, call(pending.nodes[0].Position(), runFunc, len(r.program.runs)))
		r.program.runs = append(r.program.runs, sequence{list: pending.steps, block: noBlock})
	} else {
		nodes = append(nodes, pending.nodes...)
	}
	*pending = run{}
	return nodes
}

// node rewrites one node of a block and returns the number of nodes executed with it,
// without nested blocks.
func (r *rewriter) node(node parse.Node, s scope, depth int) int {
	switch n := node.(type) {
	case *parse.ActionNode:
		cost := r.pipe(n.Pipe, s, n.Pos)
		if len(n.Pipe.Decl) == 0 {
			if !quotes(n.Pipe) {
				appendCall(n.Pipe, printFunc)
			}
			n.Pipe.Decl, n.Pipe.IsAssign = sink(n.Pos), true
		}
		return cost
	case *parse.IfNode:
		return r.branch(&n.BranchNode, s, s, depth)
	case *parse.WithNode:
		return r.branch(&n.BranchNode, s, scope{dollar: s.dollar}, depth)
	case *parse.RangeNode:
		cost := r.branch(&n.BranchNode, s, scope{dollar: s.dollar}, depth)
		appendCall(n.Pipe, overFunc)
		return cost
	case *parse.TemplateNode:
		if r.program.trees[n.Name] == nil || n.Name == mainName {
			r.fail(n.Pos, "define it in this manifest; templates of other manifests are not visible", "template %q is not defined", n.Name)
		}
		return r.pipe(n.Pipe, s, n.Pos)
	default:
		return 1
	}
}

// quotes merges quote at the end of a pipeline with printing, and reports whether it did.
// Nearly every printed value is quoted, and a call is a quarter of the cost of an action.
func quotes(pipe *parse.PipeNode) bool {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	function, ok := last.Args[0].(*parse.IdentifierNode)
	single := len(last.Args) == 2 && len(pipe.Cmds) == 1 || len(last.Args) == 1 && len(pipe.Cmds) > 1
	if !ok || function.Ident != "quote" || !single {
		return false
	}
	function.Ident = quoteFunc
	return true
}

func (r *rewriter) branch(n *parse.BranchNode, outer, inner scope, depth int) int {
	cost := r.pipe(n.Pipe, outer, n.Pos)
	r.list(n.List, inner, depth)
	r.list(n.ElseList, outer, depth)
	return cost
}

// pipe checks the pipeline of an action or branch, and records it for messages.
func (r *rewriter) pipe(pipe *parse.PipeNode, s scope, pos parse.Pos) int {
	if pipe == nil {
		return 1
	}
	if slices.ContainsFunc(pipe.Decl, func(v *parse.VariableNode) bool { return v.Ident[0] == "$" }) {
		r.fail(pos, "use another name for the variable", "$ is the data and cannot be assigned to")
	}
	a := action{pos: pos, text: brief(pipe.String())}
	cost := r.expr(pipe, s, &a, 0)
	r.program.actions = append(r.program.actions, a)
	return cost
}

// expr checks an expression and returns the number of its nodes.
func (r *rewriter) expr(node parse.Node, s scope, a *action, depth int) int {
	if depth > maxDepth {
		r.fail(node.Position(), "", "an expression is nested more than %d levels deep", maxDepth)
		return 1
	}
	cost := 1
	switch n := node.(type) {
	case *parse.PipeNode:
		for _, cmd := range n.Cmds {
			cost += r.expr(cmd, s, a, depth+1)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			cost += r.expr(arg, s, a, depth+1)
		}
	case *parse.ChainNode:
		cost += r.expr(n.Node, s, a, depth+1)
	case *parse.FieldNode:
		if s.dot {
			n.Ident = r.field(n.Pos, n.Ident, a)
		}
	case *parse.VariableNode:
		if s.dollar && n.Ident[0] == "$" && len(n.Ident) > 1 {
			n.Ident = append([]string{"$"}, r.field(n.Pos, n.Ident[1:], a)...)
		}
	case *parse.IdentifierNode:
		r.called[n.Ident] = true
		r.program.mutates = r.program.mutates || slices.Contains(mutators, n.Ident)
	}
	return cost
}

// field checks a key chain that starts at the data, and returns the chain to execute.
func (r *rewriter) field(pos parse.Pos, keys []string, a *action) []string {
	if !slices.Contains(dataFields(), keys[0]) || slices.Contains(r.hidden, keys[0]) {
		r.fail(pos, fieldHint(keys[0], r.hidden), "unknown field .%s", keys[0])
		return keys
	}
	a.keys = append(a.keys, keys)
	if long, ok := shorthands[keys[0]]; ok {
		return append(slices.Clone(long), keys[1:]...)
	}
	return keys
}

func sink(pos parse.Pos) []*parse.VariableNode {
	return []*parse.VariableNode{{NodeType: parse.NodeVariable, Pos: pos, Ident: []string{sinkVariable}}}
}

// call returns the action {{$ = name args}}.
func call(pos parse.Pos, name string, args ...int) *parse.ActionNode {
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, IsAssign: true, Decl: sink(pos)}
	appendCall(pipe, name)
	for _, arg := range args {
		number := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: int64(arg), Text: fmt.Sprint(arg)}
		pipe.Cmds[0].Args = append(pipe.Cmds[0].Args, number)
	}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: pipe}
}

// appendCall adds "| name" to a pipeline.
func appendCall(pipe *parse.PipeNode, name string) {
	function := parse.NewIdentifier(name).SetPos(pipe.Pos)
	cmd := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pipe.Pos, Args: []parse.Node{function}}
	pipe.Cmds = append(pipe.Cmds, cmd)
}
