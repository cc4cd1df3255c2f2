package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"
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
func (c chunk) documents() ([]*yaml.Node, *yamlError) {
	roots, line, err := ParseYAML(c.text, MaxDocuments+1) // one too many is reported
	if err != nil {
		return roots, &yamlError{KindYAMLSyntax, c.before + line, err.Error()}
	}
	return roots, nil
}

// ParseYAML parses at most so many documents of a text. With an error, it also returns the documents before it, and the
// line of the mistake.
func ParseYAML(text []byte, most int) (roots []*yaml.Node, line int, err error) {
	defer recoverYAML(&err)
	text = JoinSurrogates(text)
	line = 1 // of a panic
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for len(roots) < most {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return roots, 0, nil
		case err != nil:
			line, message := SyntaxError(err)
			return roots, mistakeLine(text, line, message), errors.New("not valid YAML: " + message)
		}
		if len(document.Content) == 1 {
			roots = append(roots, document.Content[0])
		}
	}
	return roots, 0, nil
}

// mistakeLine returns the line of a mistake. For some, the parser only gives the line where the enclosing block begins. The
// mistake is at the end of the shortest beginning of the text that has it.
func mistakeLine(text []byte, from int, message string) int {
	if !strings.HasPrefix(message, "did not find expected") {
		return from
	}
	var ends []int // of the lines
	for at := range text {
		if text[at] == '\n' {
			ends = append(ends, at+1)
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		ends = append(ends, len(text))
	}
	from = max(1, min(from, len(ends)))
	after := sort.Search(len(ends)-from, func(n int) bool {
		var document yaml.Node
		decoder := yaml.NewDecoder(bytes.NewReader(text[:ends[from+n-1]]))
		for {
			if err := decoder.Decode(&document); err != nil {
				_, found := SyntaxError(err)
				return found == message
			}
		}
	})
	return from + after
}

// UnmarshalYAML decodes YAML as Kubernetes and Helm do.
func UnmarshalYAML(text []byte, into any) (err error) {
	defer recoverYAML(&err)
	return sigs.Unmarshal(JoinSurrogates(text), into)
}

// surrogates are two escapes of JSON for one character outside of the Basic Multilingual Plane, after an even number of backslashes.
var surrogates = regexp.MustCompile(`((?:^|[^\\])(?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})`)

// JoinSurrogates replaces pairs of escapes in a JSON text, which YAML does not have, by the character. In other texts they are
// not escapes.
func JoinSurrogates(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\ud`)) && !bytes.Contains(text, []byte(`\uD`)) || !json.Valid(text) {
		return text
	}
	for surrogates.Match(text) { // pairs in a row share a backslash with the one before
		text = surrogates.ReplaceAllFunc(text, func(match []byte) []byte {
			groups := surrogates.FindSubmatch(match)
			high, _ := strconv.ParseUint(string(groups[2]), 16, 32)
			low, _ := strconv.ParseUint(string(groups[3]), 16, 32)
			return append(bytes.Clone(groups[1]), string(utf16.DecodeRune(rune(high), rune(low)))...)
		})
	}
	return text
}

// recoverYAML turns a panic into an error. The parser panics on some invalid input.
func recoverYAML(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the YAML parser failed: %v", r)
	}
}

// SyntaxError extracts the line from the parser's message, "yaml: line 3: did not find expected key". Default: 1.
func SyntaxError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	rest, found := strings.CutPrefix(message, "line ")
	if !found {
		return 1, message
	}
	number, text, _ := strings.Cut(rest, ": ")
	if line, err = strconv.Atoi(number); err != nil {
		return 1, message
	}
	// In these messages the parser counts lines from 0.
	if strings.HasPrefix(text, "did not find expected") {
		line++
	}
	return line, text
}
