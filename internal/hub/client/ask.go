package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	slashes "path"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Ask requests a path below the API's root, such as "environments/{name}", and returns the answer.
//
// The fields of question fill the request, by the tags with which the server reads them: `path:"name"` replaces {name},
// and `query:"name"` adds a parameter. Zero values are left out. Fields of embedded structs count, too. Fields without
// such a tag are not sent. The question may be nil.
func Ask[T any](ctx context.Context, c *Client, path string, question any) (answer T, err error) {
	q := call{method: http.MethodGet}
	if q.path, q.query, err = locate(path, question); err != nil {
		return answer, err
	}
	err = c.send(ctx, q, &answer)
	return answer, err
}

// Tell sends body, as JSON, to a path below the API's root, and returns the answer. The fields of at fill the path and
// the parameters, as in [Ask]. Both at and body may be nil.
func Tell[T any](ctx context.Context, c *Client, path string, at, body any) (answer T, err error) {
	q := call{method: http.MethodPost, contentType: "application/json"}
	if q.path, q.query, err = locate(path, at); err != nil {
		return answer, err
	}
	if body != nil {
		if q.body, err = json.Marshal(body); err != nil {
			return answer, fmt.Errorf("encode a request: %w", err)
		}
	}
	err = c.send(ctx, q, &answer)
	return answer, err
}

// locate returns the path and the parameters of a question.
func locate(path string, question any) (string, url.Values, error) {
	l := location{elements: strings.Split(path, "/"), parameters: url.Values{}}
	if question != nil {
		l.add(reflect.ValueOf(question))
	}
	for i, wanted := range strings.Split(path, "/") {
		// Servers and proxies clean the decoded path, and would answer for another one.
		if name, err := url.PathUnescape(l.elements[i]); err != nil || slashes.Clean("/"+name) != "/"+name || name == "" {
			return "", nil, fmt.Errorf("request %s: %q cannot be a %s", path, name, strings.Trim(wanted, "{}"))
		}
	}
	return strings.Join(l.elements, "/"), l.parameters, nil
}

// location collects what a question fills.
type location struct {
	elements   []string
	parameters url.Values
}

func (l *location) add(question reflect.Value) {
	for field, value := range question.Fields() {
		if name, ok := field.Tag.Lookup("path"); ok {
			for i, element := range l.elements {
				if element == "{"+name+"}" {
					l.elements[i] = url.PathEscape(format(value))
				}
			}
		}
		if tag, ok := field.Tag.Lookup("query"); ok {
			l.parameter(tag, value)
		}
		if field.Anonymous && value.Kind() == reflect.Struct {
			l.add(value)
		}
	}
}

// parameter adds a value. Lists are joined by commas, unless the tag wants each element for itself.
func (l *location) parameter(tag string, value reflect.Value) {
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case value.IsZero():
	case value.Kind() != reflect.Slice:
		l.parameters.Set(name, format(value))
	default:
		texts := make([]string, value.Len())
		for i := range texts {
			texts[i] = format(value.Index(i))
		}
		if options != "explode" {
			texts = []string{strings.Join(texts, ",")}
		}
		l.parameters[name] = texts
	}
}

// format returns a value as the server reads it.
func format(value reflect.Value) string {
	if at, ok := value.Interface().(time.Time); ok {
		return at.UTC().Format(time.RFC3339Nano)
	}
	switch value.Kind() {
	case reflect.String:
		return value.String()
	case reflect.Bool:
		return strconv.FormatBool(value.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(value.Int(), 10)
	}
	panic(fmt.Sprintf("client: a %s cannot be a parameter", value.Type())) // a mistake in a type, which the tests of its package find
}
