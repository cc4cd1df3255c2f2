package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// chunk is the text from one document marker to the next.
type chunk struct {
	text []byte
	// before is the number of lines before the chunk in its file.
	before int
}

// split cuts a file at its document markers, so that a document that cannot be parsed does not affect the others.
// YAML forbids "---" at the beginning of a line everywhere else, even within a quoted string.
// A file with directives is not split, because a directive precedes the marker of its document.
func split(data []byte) []chunk {
	if data[0] == '%' || bytes.Contains(data, []byte("\n%")) {
		return []chunk{{text: data}}
	}
	var chunks []chunk
	line := 0
	for len(data) > 0 {
		end := nextMarker(data)
		chunks = append(chunks, chunk{text: data[:end], before: line})
		line += bytes.Count(data[:end], []byte("\n"))
		data = data[end:]
	}
	return chunks
}

// nextMarker returns the end of the first document in data: before the next "---", or after "...".
func nextMarker(data []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return len(data)
		}
		at += i + 1
		switch {
		case isMarker(data[at:], "---"):
			return at
		case isMarker(data[at:], "..."):
			if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
				return at + i + 1
			}
		}
	}
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// yamlError is the reason why a text cannot be used as YAML.
type yamlError struct {
	kind    ProblemKind
	line    int
	message string
}

func (e *yamlError) Error() string { return e.message }

// documents parses the documents of a chunk, usually one. With an error, it also returns the documents before it.
func (c chunk) documents() (roots []*yaml.Node, err *yamlError) {
	// The parser panics on some invalid input.
	defer func() {
		if r := recover(); r != nil {
			err = &yamlError{KindYAMLSyntax, c.before + 1, fmt.Sprintf("the YAML parser failed: %v", r)}
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(c.text))
	for len(roots) <= MaxDocuments { // one too many is reported
		var doc yaml.Node
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return roots, c.syntaxError(err)
		}
		if len(doc.Content) == 1 {
			roots = append(roots, doc.Content[0])
		}
	}
	return roots, nil
}

// syntaxError extracts the line from the parser's message, "yaml: line 3: did not find expected key".
func (c chunk) syntaxError(err error) *yamlError {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, text, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, message = n, text
		}
		// In these messages the parser counts lines from 0.
		if strings.HasPrefix(message, "did not find expected") {
			line++
		}
	}
	return &yamlError{KindYAMLSyntax, c.before + line, "not valid YAML: " + message}
}
