package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a manifest written as an object. Each string in it, including keys, can be a template. It is immutable.
type object struct {
	isMap   bool
	entries []entry // of a map, sorted by key as written
	isList  bool
	items   []*object // of a list
	program *program  // of a string that is a template
	plain   any       // any other value
	path    string    // within the manifest, for messages
}

type entry struct{ key, value *object }

// pathPrefix begins the messages about a text within an object.
const pathPrefix = "in "

// objectError is an error in a text of an object.
type objectError struct {
	at  *object
	err error
}

func (e *objectError) Error() string { return pathPrefix + e.at.path + ": " + e.err.Error() }
func (e *objectError) Unwrap() error { return e.err }

// compileObject compiles the texts of an object. The error is a *syntaxError.
func compileObject(written map[string]any) (*object, error) {
	return compileNode(written, "", 0)
}

func compileNode(written any, path string, depth int) (*object, error) {
	if depth > maxDepth {
		return nil, &syntaxError{line: 1, message: fmt.Sprintf("the object is nested more than %d levels deep", maxDepth)}
	}
	switch v := written.(type) {
	case map[string]any:
		return compileMap(v, path, depth)
	case []any:
		o := &object{isList: true, path: path}
		for i, item := range v {
			c, err := compileNode(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
			if err != nil {
				return nil, err
			}
			o.items = append(o.items, c)
		}
		return o, nil
	case string:
		return compileString(v, path)
	default:
		return &object{plain: v, path: path}, nil
	}
}

func compileMap(written map[string]any, path string, depth int) (*object, error) {
	o := &object{isMap: true, path: path}
	for _, key := range slices.Sorted(maps.Keys(written)) {
		at := strings.TrimPrefix(path+"."+brief(key), ".")
		k, err := compileString(key, at)
		if err != nil {
			return nil, err
		}
		v, err := compileNode(written[key], at, depth+1)
		if err != nil {
			return nil, err
		}
		o.entries = append(o.entries, entry{k, v})
	}
	return o, nil
}

func compileString(text, path string) (*object, error) {
	if !strings.Contains(text, "{{") {
		return &object{plain: text, path: path}, nil
	}
	p, err := compile(text)
	if mistake := asSyntax(err); mistake != nil {
		return nil, &syntaxError{line: 1, message: pathPrefix + path + ": " + mistake.message, hint: mistake.hint}
	}
	return &object{program: p, path: path}, err
}

// executeObject appends an object with its templates rendered, as YAML with sorted keys.
func (w *Worker) executeObject(o *object, d *Data) error {
	filled, err := w.fill(o, d)
	if err != nil {
		return err
	}
	root, _ := filled.(map[string]any)
	var buffer bytes.Buffer
	encoder := yaml.NewEncoder(&buffer)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return fmt.Errorf("write the object as YAML: %w", err)
	}
	_, err = w.Write(buffer.Bytes())
	return err
}

// fill returns an object with its templates rendered.
func (w *Worker) fill(o *object, d *Data) (any, error) {
	switch {
	case o.isMap:
		return w.fillMap(o, d)
	case o.isList:
		list := make([]any, 0, len(o.items))
		for _, item := range o.items {
			v, err := w.fill(item, d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case o.program != nil:
		return w.fillText(o, d)
	default:
		return o.plain, nil
	}
}

func (w *Worker) fillMap(o *object, d *Data) (map[string]any, error) {
	m := make(map[string]any, len(o.entries))
	for _, e := range o.entries {
		k, err := w.fill(e.key, d)
		if err != nil {
			return nil, err
		}
		key := fmt.Sprint(k)
		if _, twice := m[key]; twice {
			return nil, &objectError{e.key, errors.New("two keys have the same result")}
		}
		if m[key], err = w.fill(e.value, d); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (w *Worker) fillText(o *object, d *Data) (string, error) {
	start := len(w.out)
	if err := w.execute(o.program, d); err != nil {
		return "", &objectError{o, err}
	}
	text := string(w.out[start:])
	w.out = w.out[:start]
	return text, w.Charge(float64(len(text)))
}
