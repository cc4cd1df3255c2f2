package render

import (
	"errors"
	"reflect"
	"strconv"
	"sync"
	"text/template/parse"
)

// commands compiles a pipeline without its variables. Without any command it returns nil.
func (c *compiler) commands(cmds []*parse.CommandNode, s scope) (value expression, ok bool) {
	for _, cmd := range cmds {
		if value, ok = c.command(cmd, value, s); !ok {
			return nil, false
		}
	}
	return value, true
}

// command compiles a command; piped is the value of the one before, or nil.
func (c *compiler) command(cmd *parse.CommandNode, piped expression, s scope) (expression, bool) {
	function, ok := cmd.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(cmd.Args) > 1 || piped != nil {
			return nil, false
		}
		return c.argument(cmd.Args[0], s)
	}
	var args []expression
	for _, arg := range cmd.Args[1:] {
		compiled, ok := c.argument(arg, s)
		if !ok {
			return nil, false
		}
		args = append(args, compiled)
	}
	switch name := function.Ident; name {
	case "and", "or":
		return shortCircuit(name == "or", args), len(args) > 0 && piped == nil
	default:
		if piped != nil {
			args = append(args, piped)
		}
		return calling(name, args, numbersIn(cmd.Args[1:]))
	}
}

// argument compiles an operand of a command.
func (c *compiler) argument(node parse.Node, s scope) (expression, bool) {
	switch n := node.(type) {
	case *parse.StringNode:
		return constant(textOperand(n.Text)), true
	case *parse.BoolNode:
		return constant(boolOperand(n.True)), true
	case *parse.NumberNode:
		number, err := strconv.Atoi(n.Text)
		return constant(operandOf(number)), err == nil
	case *parse.IdentifierNode:
		return calling(n.Ident, nil, false)
	case *parse.PipeNode:
		if len(n.Decl) > 0 {
			return nil, false
		}
		return c.commands(n.Cmds, s)
	case *parse.DotNode:
		return func(w *Worker) (operand, error) { return w.dot, nil }, !s.dot
	case *parse.FieldNode:
		if s.dot {
			return fieldOf(n.Ident)
		}
		return func(w *Worker) (operand, error) { return w.dot.follow(n.Ident) }, true
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return fieldOf(n.Ident[1:])
		}
		number, ok := c.find(n.Ident[0])
		keys := n.Ident[1:]
		return func(w *Worker) (operand, error) { return w.variables[number].follow(keys) }, ok
	default:
		return nil, false
	}
}

func constant(o operand) expression { return func(*Worker) (operand, error) { return o, nil } }

// fieldOf compiles a chain of keys that starts at the data.
func fieldOf(keys []string) (expression, bool) {
	if len(keys) == 0 {
		return nil, false
	}
	if read := tables[keys[0]]; read != nil && len(keys) == 2 {
		return func(w *Worker) (operand, error) {
			if text, ok := read(w.data)[keys[1]]; ok {
				return textOperand(text), nil
			}
			return operand{}, nil
		}, true
	}
	read := reader(keys[0])
	return func(w *Worker) (operand, error) { return read(w.data).follow(keys[1:]) }, read != nil
}

// shortCircuit compiles and and or, which evaluate no more than they need.
func shortCircuit(until bool, args []expression) expression {
	return func(w *Worker) (o operand, err error) {
		for _, arg := range args {
			if o, err = arg(w); err != nil {
				return o, err
			}
			if is, err := o.truth(); err != nil || is == until {
				return o, err
			}
		}
		return o, nil
	}
}

// numbersIn reports whether one of the nodes is a number, whose type depends on what it is passed to.
func numbersIn(nodes []parse.Node) bool {
	for _, n := range nodes {
		if n.Type() == parse.NodeNumber {
			return true
		}
	}
	return false
}

// calling compiles the call of a function.
func calling(name string, args []expression, hasNumbers bool) (expression, bool) {
	call := quick[name]
	isQuick := call.call != nil && len(args) >= call.least && len(args) <= call.most
	t := functionTypes()[name]
	isGeneral := t != nil && accepts(t, len(args)) && (!hasNumbers || takesNumbers(t))
	return func(w *Worker) (o operand, err error) {
		base := len(w.operands)
		if err := w.push(args); err != nil {
			return operand{}, err
		}
		err = errUnusual
		if isQuick {
			o, err = call.call(w, w.operands[base:])
		}
		if isGeneral && errors.Is(err, errUnusual) {
			o, err = w.callFunction(name, t, w.operands[base:])
		}
		w.operands = w.operands[:base]
		return o, err
	}, isQuick || isGeneral
}

// push evaluates arguments onto the stack of operands.
func (w *Worker) push(args []expression) error {
	for _, arg := range args {
		o, err := arg(w)
		if err != nil {
			return err
		}
		w.operands = append(w.operands, o)
	}
	return nil
}

// functionTypes are the types of the functions that are not text/template's own, by name.
var functionTypes = sync.OnceValue(func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for name, function := range library() {
		types[name] = reflect.TypeOf(function)
	}
	for name, function := range new(Worker).functions() {
		types[name] = reflect.TypeOf(function)
	}
	return types
})

// accepts reports whether a function can be called with a number of arguments.
func accepts(t reflect.Type, count int) bool {
	if t.IsVariadic() {
		return count >= t.NumIn()-1
	}
	return count == t.NumIn()
}

// takesNumbers reports whether each parameter takes a number as an int.
func takesNumbers(t reflect.Type) bool {
	for i := range t.NumIn() {
		in := t.In(i)
		if t.IsVariadic() && i == t.NumIn()-1 {
			in = in.Elem()
		}
		switch in.Kind() {
		case reflect.Int, reflect.Interface, reflect.String, reflect.Bool:
		default:
			return false
		}
	}
	return true
}

// callFunction calls a function through reflection.
func (w *Worker) callFunction(name string, t reflect.Type, args []operand) (operand, error) {
	function, known := w.callable[name]
	if !known {
		if own := w.functions()[name]; own != nil {
			function = reflect.ValueOf(own)
		} else {
			function = reflect.ValueOf(w.Metered(name, library()[name]))
		}
		w.callable[name] = function
	}
	values := make([]reflect.Value, len(args))
	for i := range args {
		in := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= t.NumIn()-1 {
			in = in.Elem()
		}
		var err error
		if values[i], err = args[i].as(in); err != nil {
			return operand{}, err
		}
	}
	results := function.Call(values)
	if len(results) == 2 && !results[1].IsNil() {
		return operand{}, errUnusual // the template engine calls it again, and wraps the error
	}
	return operandOf(results[0].Interface()), nil
}

// as returns the operand as an argument of a type.
func (o *operand) as(t reflect.Type) (reflect.Value, error) {
	if o.kind == absentKind {
		if t.Kind() != reflect.Interface {
			return reflect.Value{}, errUnusual
		}
		return reflect.Zero(t), nil
	}
	v := reflect.ValueOf(o.value())
	switch {
	case t == reflect.TypeFor[reflect.Value]():
		return reflect.ValueOf(v), nil
	case v.Type().AssignableTo(t):
		return v, nil
	default:
		return v, errUnusual
	}
}
