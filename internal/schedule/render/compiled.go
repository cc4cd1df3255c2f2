package render

import (
	"errors"
	"text/template/parse"
)

// compiled is a rewritten main template as Go functions. It writes the same bytes, leaves the same trace and charges the same work as
// text/template does with the tree, but nothing is looked up or called through reflection.
//
// It never fails by itself: whatever ends it, such as a mistake in the template, a limit or a value that it does not know, lets the template
// engine execute the tree from the beginning, which then decides, and says where and why.
type compiled struct {
	body      []statement
	variables int
}

// statement is a node of a template; it writes to the worker.
type statement func(*Worker) error

// expression computes a value.
type expression func(*Worker) (operand, error)

// Ends of an iteration.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

// compiler compiles a tree. Variables are numbered by their depth on text/template's stack of variables, which their declarations determine.
type compiler struct {
	names []string
	most  int
	loops int
}

// compileTree returns the compiled main template, or nil if it has parts that are not compiled: templates that call each other, functions that change
// a map, and the data itself as a value.
func compileTree(p *program) *compiled {
	if len(p.trees) > 1 || p.mutates {
		return nil
	}
	var c compiler
	body, ok := c.list(p.trees[mainName].Root, scope{dot: true, dollar: true})
	if !ok {
		return nil
	}
	return &compiled{body: body, variables: c.most}
}

// run executes a compiled template for the worker's data.
func (c *compiled) run(w *Worker) error {
	for len(w.variables) < c.variables {
		w.variables = append(w.variables, operand{})
	}
	w.dot, w.operands = operand{}, w.operands[:0]
	return runAll(w, c.body)
}

func runAll(w *Worker, list []statement) error {
	for _, s := range list {
		if err := s(w); err != nil {
			return err
		}
	}
	return nil
}

// declare returns the number of a new variable.
func (c *compiler) declare(name string) int {
	c.names = append(c.names, name)
	c.most = max(c.most, len(c.names))
	return len(c.names) - 1
}

// find returns the number of a variable.
func (c *compiler) find(name string) (int, bool) {
	for i := len(c.names) - 1; i >= 0; i-- {
		if c.names[i] == name {
			return i, true
		}
	}
	return 0, false
}

func (c *compiler) list(list *parse.ListNode, s scope) ([]statement, bool) {
	if list == nil {
		return nil, true
	}
	body := make([]statement, 0, len(list.Nodes))
	for _, node := range list.Nodes {
		compiled, ok := c.node(node, s)
		if !ok {
			return nil, false
		}
		body = append(body, compiled)
	}
	return body, true
}

func (c *compiler) node(node parse.Node, s scope) (statement, bool) {
	switch n := node.(type) {
	case *parse.TextNode:
		return func(w *Worker) error { _, err := w.Write(n.Text); return err }, true
	case *parse.ActionNode:
		if len(n.Pipe.Decl) != 1 {
			return nil, false
		}
		if n.Pipe.Decl[0].Ident[0] == sinkVariable {
			return c.printed(n.Pipe, s)
		}
		return c.assigned(n.Pipe, s)
	case *parse.IfNode:
		return c.branch(&n.BranchNode, s, false)
	case *parse.WithNode:
		return c.branch(&n.BranchNode, s, true)
	case *parse.RangeNode:
		return c.loop(&n.BranchNode, s)
	case *parse.BreakNode:
		return func(*Worker) error { return errBreak }, c.loops > 0
	case *parse.ContinueNode:
		return func(*Worker) error { return errContinue }, c.loops > 0
	default:
		return nil, false
	}
}

// printed compiles an action that the rewriter made.
func (c *compiler) printed(pipe *parse.PipeNode, s scope) (statement, bool) {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	function, ok := last.Args[0].(*parse.IdentifierNode)
	if !ok {
		return nil, false
	}
	switch name := function.Ident; name {
	case enterFunc, atFunc, runFunc:
		number, ok := last.Args[1].(*parse.NumberNode)
		return injectedCall(name, int(number.Int64)), ok
	case leaveFunc:
		return func(w *Worker) error { w.leave(); return nil }, true
	case printFunc, quoteFunc:
		value, ok := c.commands(pipe.Cmds[:len(pipe.Cmds)-1], s)
		if ok && len(last.Args) == 2 {
			value, ok = c.argument(last.Args[1], s)
		}
		if !ok || value == nil {
			return nil, false
		}
		return printing(name, value), true
	default:
		return nil, false
	}
}

func injectedCall(name string, number int) statement {
	return func(w *Worker) error {
		var err error
		switch name {
		case enterFunc:
			_, err = w.enter(number)
		case atFunc:
			_, err = w.at(number)
		default:
			_, err = w.run(number)
		}
		return err
	}
}

func printing(name string, value expression) statement {
	return func(w *Worker) error {
		o, err := value(w)
		switch {
		case err != nil:
			return err
		case o.kind == textKind:
			return w.printText(o.text, name == quoteFunc)
		case name == quoteFunc:
			_, err = w.printQuoted(o.value())
		default:
			_, err = w.print(o.value())
		}
		return err
	}
}

// assigned compiles the declaration of a variable, or an assignment to one.
func (c *compiler) assigned(pipe *parse.PipeNode, s scope) (statement, bool) {
	value, ok := c.commands(pipe.Cmds, s)
	if !ok || len(pipe.Decl[0].Ident) != 1 {
		return nil, false
	}
	number, ok := 0, true
	if pipe.IsAssign {
		number, ok = c.find(pipe.Decl[0].Ident[0])
	} else {
		number = c.declare(pipe.Decl[0].Ident[0])
	}
	return func(w *Worker) (err error) {
		w.variables[number], err = value(w)
		return err
	}, ok
}

// branch compiles if and with.
func (c *compiler) branch(n *parse.BranchNode, s scope, isWith bool) (statement, bool) {
	defer c.leave(len(c.names))
	condition, ok := c.commands(n.Pipe.Cmds, s)
	if !ok || len(n.Pipe.Decl) > 1 || n.Pipe.IsAssign {
		return nil, false
	}
	number := -1
	if len(n.Pipe.Decl) == 1 {
		number = c.declare(n.Pipe.Decl[0].Ident[0])
	}
	inner := s
	if isWith {
		inner = scope{dollar: s.dollar}
	}
	mark := len(c.names)
	then, ok := c.list(n.List, inner)
	c.leave(mark)
	otherwise, okElse := c.list(n.ElseList, s)
	return func(w *Worker) error {
		o, err := condition(w)
		if err != nil {
			return err
		}
		if number >= 0 {
			w.variables[number] = o
		}
		is, err := o.truth()
		switch {
		case err != nil:
			return err
		case !is:
			return runAll(w, otherwise)
		case isWith:
			before := w.dot
			w.dot = o
			err := runAll(w, then)
			w.dot = before
			return err
		}
		return runAll(w, then)
	}, ok && okElse
}

// leave ends the scope of variables.
func (c *compiler) leave(mark int) { c.names = c.names[:mark] }

// loop compiles range.
func (c *compiler) loop(n *parse.BranchNode, s scope) (statement, bool) {
	defer c.leave(len(c.names))
	cmds := n.Pipe.Cmds
	if last := cmds[len(cmds)-1]; calls(last, overFunc) {
		cmds = cmds[:len(cmds)-1]
	}
	list, ok := c.commands(cmds, s)
	if !ok || list == nil || n.Pipe.IsAssign {
		return nil, false
	}
	var numbers []int
	for _, declared := range n.Pipe.Decl {
		numbers = append(numbers, c.declare(declared.Ident[0]))
	}
	mark := len(c.names)
	c.loops++
	body, ok := c.list(n.List, scope{dollar: s.dollar})
	c.loops--
	c.leave(mark)
	otherwise, okElse := c.list(n.ElseList, s)
	return func(w *Worker) error {
		o, err := list(w)
		if err != nil {
			return err
		}
		for _, number := range numbers {
			w.variables[number] = o
		}
		before := w.dot
		found, err := w.each(&o, func(key, element operand) error {
			w.dot = element
			switch len(numbers) {
			case 1:
				w.variables[numbers[0]] = element
			case 2:
				w.variables[numbers[0]], w.variables[numbers[1]] = key, element
			}
			if err := runAll(w, body); err != nil && !errors.Is(err, errContinue) {
				return err
			}
			return nil
		})
		w.dot = before
		switch {
		case errors.Is(err, errBreak):
			return nil
		case err != nil || found:
			return err
		}
		return runAll(w, otherwise)
	}, ok && okElse
}
