package engine

import (
	"errors"
	"slices"
	"text/template/parse"
)

// errUnguarded refuses a template with a construct that guard did not find, because it could run endlessly.
var errUnguarded = errors.New("the template is written in a way that cannot be metered; write its loops, definitions and calls of tpl more plainly")

// trees parses a text without knowing the functions.
func trees(text string) (map[string]*parse.Tree, error) {
	set := map[string]*parse.Tree{}
	t := parse.New("text")
	t.Mode = parse.SkipFuncCheck
	_, err := t.Parse(text, "", "", set)
	if t.Root != nil {
		set["text"] = t // an empty one is not added by itself
	}
	return set, err
}

// audited reports whether a text parses, and has the guard's call in every template, loop and tpl.
func audited(text string) bool {
	set, err := trees(text)
	if err != nil {
		return false
	}
	for _, tree := range set {
		if parse.IsEmptyTree(tree.Root) {
			continue
		}
		nodes := tree.Root.Nodes
		if len(nodes) < 2 || !calls(nodes[0], guardEnter) || !calls(nodes[len(nodes)-1], guardLeave) {
			return false
		}
		if !auditList(&parse.ListNode{Nodes: nodes[1 : len(nodes)-1]}) {
			return false
		}
	}
	return true
}

// calls reports whether a node is only the call of a guard.
func calls(n parse.Node, name string) bool {
	a, ok := n.(*parse.ActionNode)
	return ok && len(a.Pipe.Decl) == 0 && len(a.Pipe.Cmds) == 1 && function(a.Pipe.Cmds[0]) == name
}

// function returns the name of the function that a command calls, or "".
func function(c *parse.CommandNode) string {
	if len(c.Args) == 0 {
		return ""
	}
	if id, ok := c.Args[0].(*parse.IdentifierNode); ok {
		return id.Ident
	}
	return ""
}

func auditList(l *parse.ListNode) bool {
	if l == nil {
		return true
	}
	for _, n := range l.Nodes {
		if !auditNode(n) {
			return false
		}
	}
	return true
}

func auditNode(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.ActionNode:
		return auditPipe(n.Pipe)
	case *parse.TemplateNode:
		return auditPipe(n.Pipe)
	case *parse.IfNode:
		return auditBranch(n.BranchNode)
	case *parse.WithNode:
		return auditBranch(n.BranchNode)
	case *parse.RangeNode:
		if len(n.List.Nodes) == 0 || !calls(n.List.Nodes[0], guardStep) {
			return false
		}
		body := &parse.ListNode{Nodes: n.List.Nodes[1:]}
		return auditPipe(n.Pipe) && auditList(body) && auditList(n.ElseList)
	}
	return true
}

func auditBranch(b parse.BranchNode) bool {
	return auditPipe(b.Pipe) && auditList(b.List) && auditList(b.ElseList)
}

func auditPipe(p *parse.PipeNode) bool {
	if p == nil {
		return true
	}
	for _, c := range p.Cmds {
		if !auditCommand(c) {
			return false
		}
	}
	return true
}

// auditCommand checks that tpl gets a guarded text, and that no guard is called anywhere else.
func auditCommand(c *parse.CommandNode) bool {
	args := c.Args
	if function(c) == "tpl" && len(args) > 1 {
		wrapped, ok := guarded(args[1])
		if !ok {
			return false
		}
		args = append([]parse.Node{wrapped}, args[2:]...)
	}
	for _, arg := range args {
		if !auditArg(arg) {
			return false
		}
	}
	return true
}

// guarded returns the operand of the guard for texts.
func guarded(n parse.Node) (parse.Node, bool) {
	p, ok := n.(*parse.PipeNode)
	if !ok || len(p.Decl) > 0 || len(p.Cmds) != 1 || function(p.Cmds[0]) != guardText || len(p.Cmds[0].Args) != 2 {
		return nil, false
	}
	return p.Cmds[0].Args[1], true
}

func auditArg(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.PipeNode:
		return auditPipe(n)
	case *parse.ChainNode:
		return auditArg(n.Node)
	case *parse.IdentifierNode:
		return !slices.Contains(guardNames, n.Ident)
	}
	return true
}
