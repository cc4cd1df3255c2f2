package fleet

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// parsed is the content of a file, shared by all files with the same content.
// Its positions have lines only.
type parsed struct {
	documents  []*document
	problems   []Problem
	foreign    []Problem    // of documents of other groups
	unreadable []Unreadable // the zero Ref means that any object may be missing
	unmarked   []Unreadable // ConfigMaps that are not platform configuration
	opaque     bool         // a document does not show which objects the file had

	expander expander
	count    int // of documents so far
	size     int // in bytes
}

// parse reads the documents of a file. It never panics, and its work is bounded.
func parse(data []byte) *parsed {
	p := &parsed{expander: expander{left: MaxNodes}, size: len(data)}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) == 0:
		return p
	case len(data) > MaxFileSize:
		p.lose(tooLarge(int64(len(data))))
		return p
	case !utf8.Valid(data):
		p.lose(notUTF8(data))
		return p
	}
	for i, c := range split(data) {
		if i == MaxDocuments {
			p.lose(tooMany(c.before + 1))
			break
		}
		p.chunk(c)
	}
	return p
}

func tooLarge(size int64) Problem {
	return Problem{
		Severity: SeverityError, Kind: KindFileTooLarge,
		Message: fmt.Sprintf("the file has %d bytes; the maximum is %d", size, MaxFileSize),
		Hint:    "split it, or list it in .kalypsoignore",
	}
}

func tooMany(line int) Problem {
	return Problem{
		Severity: SeverityError, Kind: KindYAMLBounds, Position: Position{Line: line},
		Message: fmt.Sprintf("the file has more than %d documents", MaxDocuments), Hint: "split the file",
	}
}

// beyond is the problem of a file after which no other one is read.
func (b Budget) beyond(count int) Problem {
	more := ""
	if count > 1 {
		more = fmt.Sprintf(", nor the %d files after it", count-1)
	}
	return Problem{
		Severity: SeverityError, Kind: KindRepositoryTooLarge,
		Message: fmt.Sprintf("the file is not read%s: with it, the repository has more than %d MiB of YAML files, or more than %d documents", more, b.Bytes>>20, b.Documents),
		Hint:    "keep other files elsewhere, or list them in .kalypsoignore",
	}
}

func notUTF8(data []byte) Problem {
	valid := 0
	for r, size := utf8.DecodeRune(data); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(data[valid:]) {
		valid += size
	}
	return Problem{
		Severity: SeverityError, Kind: KindNotUTF8, Position: Position{Line: 1 + bytes.Count(data[:valid], []byte("\n"))},
		Message: "the file is not UTF-8 text", Hint: "save it as UTF-8, or list it in .kalypsoignore",
	}
}

// lose reports a problem that hides other objects of the file.
func (p *parsed) lose(problem Problem) {
	p.problems = append(p.problems, problem)
	p.unreadable = append(p.unreadable, Unreadable{Position: problem.Position})
}

// chunk adds the documents of a chunk. One that is not valid YAML hides itself and the rest of the chunk.
func (p *parsed) chunk(c chunk) {
	roots, err := c.documents()
	text := Digest(sha256.Sum256(c.text))
	for i, root := range roots {
		p.root(root, c, text.with(nil, c.before, i))
	}
	if err != nil {
		p.lose(Problem{
			Severity: SeverityError, Kind: err.kind, Position: Position{Line: err.line}, Message: err.message,
			Hint: "correct the YAML; until then, nothing that the file may have contained is removed",
		})
	}
}

// root expands and adds a document, or the documents of a list. An empty document is ignored.
func (p *parsed) root(root *yaml.Node, c chunk, digest Digest) {
	if root.Kind == yaml.ScalarNode {
		if root.Tag != nullTag {
			p.text(root, c.before)
		}
		return
	}
	h := readHeader(root)
	h.line = root.Line + c.before
	if root.Kind == yaml.SequenceNode {
		h.apiVersion, h.kind = "v1", kindList
	}
	if err := p.expander.expand(root, c.before); err != nil {
		p.outOfBounds(h, err)
		return
	}
	if root.Kind == yaml.SequenceNode {
		p.list(root, digest)
		return
	}
	p.document(root, digest)
}

// text reports a document that is a text. It says nothing about the objects that the file had when it was published.
func (p *parsed) text(root *yaml.Node, before int) {
	problem := Problem{
		Severity: SeverityError, Kind: KindWrongType, Position: Position{Line: root.Line + before},
		Message: fmt.Sprintf("the document is %s, want a map", describe(root)),
		Hint:    "correct it, or delete the file; until then, nothing that the file may have contained is removed",
	}
	if strings.HasPrefix(root.Value, "version https://git-lfs.github.com/spec/") {
		problem.Message = "the file is a Git LFS pointer, without the content"
		problem.Hint = "commit the file itself, without Git LFS; until then, nothing that it may have contained is removed"
	}
	p.opaque = true
	p.lose(problem)
}

// outOfBounds reports a document that is too large to read. If it is not meant for the scheduler, that is only a warning.
func (p *parsed) outOfBounds(h header, err *yamlError) {
	problem := Problem{
		Severity: SeverityError, Kind: err.kind, Object: h.ref(), Position: Position{Line: err.line}, Message: err.message,
		Hint: "remove nested aliases, or split the file; what depends on it is held",
	}
	switch h.reading() {
	case readSkip, readForeign, readUnmarked:
		problem.Severity, problem.Object = SeverityWarning, Ref{}
		problem.Hint = "remove nested aliases, or split the file"
	case readList:
		problem.Object = Ref{}
		p.unreadable = append(p.unreadable, Unreadable{Position: Position{Line: h.line}})
	default:
		p.unreadable = append(p.unreadable, h.unreadable())
	}
	p.problems = append(p.problems, problem)
}

// document adds a document, or the documents of a list.
func (p *parsed) document(root *yaml.Node, digest Digest) {
	if p.count++; p.count > MaxDocuments {
		if p.count == MaxDocuments+1 {
			p.lose(tooMany(root.Line))
		}
		return
	}
	h := readHeader(root)
	switch h.reading() {
	case readList:
		p.items(root, h, digest)
	case readUnmarked:
		if _, decided := h.labels[ConfigLabel]; !decided && h.name != "" {
			p.unmarked = append(p.unmarked, h.unreadable())
		}
	case readTypo:
		p.typo(h)
	case readObject:
		p.object(root, h, digest)
	case readUnknown:
		severity := SeverityWarning
		if nearest.Typo(h.kind, kindNames()) != "" {
			severity = SeverityError
		}
		p.unknown(h, severity, didYouMean(h.kind, kindNames()), fmt.Sprintf("%s is not a kind of %s", quoteShort(h.kind), h.apiVersion))
		p.misspelt(h)
	case readResult:
		p.unknown(h, SeverityWarning, "remove it", h.kind+" is written by the scheduler and ignored here")
	case readForeign:
		p.foreign = append(p.foreign, h.problem(SeverityWarning, KindUnknownKind,
			"remove it, or list the file in .kalypsoignore",
			fmt.Sprintf("%s of %s is not a kind of the control plane", quoteShort(h.kind), quoteShort(h.apiVersion))))
	case readVersion:
		p.version(h)
	case readKind:
		h.name = ""
		p.lose(h.problem(SeverityError, KindMissingField, "add the kind", "kind is missing"))
	}
}

// version reports an object with a known kind, but with an unknown or missing version.
func (p *parsed) version(h header) {
	problem := h.problem(SeverityError, KindUnknownVersion, "write apiVersion: "+h.version(),
		fmt.Sprintf("unknown API version %s", quoteShort(h.apiVersion)))
	if h.apiVersion == "" {
		problem.Kind, problem.Message = KindMissingField, "apiVersion is missing"
	}
	p.problems = append(p.problems, problem)
	p.unreadable = append(p.unreadable, h.unreadable())
}

func (p *parsed) unknown(h header, severity Severity, hint, message string) {
	p.problems = append(p.problems, h.problem(severity, KindUnknownKind, hint, message))
}

// typo reports an object whose API version or kind is a typo. It is unreadable under the kind that is meant.
func (p *parsed) typo(h header) {
	meant := h.meant()
	problem := h.problem(SeverityError, KindUnknownKind, "",
		fmt.Sprintf("%s of %s is not a kind of the control plane", quoteShort(h.kind), quoteShort(h.apiVersion)))
	if meant == kindList {
		problem.Object, problem.Hint = Ref{}, "did you mean kind: List?"
		p.lose(problem)
		return
	}
	h.kind = meant
	problem.Hint = fmt.Sprintf("did you mean kind: %s and apiVersion: %s?", meant, h.version())
	p.problems = append(p.problems, problem)
	p.unreadable = append(p.unreadable, h.unreadable())
}

func (h header) problem(severity Severity, kind ProblemKind, hint, message string) Problem {
	return Problem{Severity: severity, Kind: kind, Object: h.ref(), Position: Position{Line: h.line}, Message: message, Hint: hint}
}

// misspelt lists an object as unreadable under the most similar kind, so that a typo removes nothing.
func (p *parsed) misspelt(h header) {
	if h.kind = Nearest(h.kind, kindNames()); h.kind != "" {
		p.unreadable = append(p.unreadable, h.unreadable())
	}
}

// items adds the documents of a List.
func (p *parsed) items(root *yaml.Node, h header, digest Digest) {
	items := child(root, "items")
	if wrong := childOrTypo(root, "items"); items == nil && wrong != nil {
		p.lose(h.problem(SeverityError, KindMissingField, "correct the name of the field", "items is missing, and another field is similar"))
		return
	}
	p.list(items, digest)
}

// list adds the documents of a list. The number makes their digests unique.
func (p *parsed) list(items *yaml.Node, digest Digest) {
	if items == nil || items.Kind != yaml.SequenceNode {
		return
	}
	for i, item := range items.Content {
		if item.Kind == yaml.MappingNode {
			p.document(item, digest.with(nil, i))
		}
	}
}

// object decodes a document of a known kind. One with an error is listed as unreadable:
// using half an object would schedule by that half.
func (p *parsed) object(root *yaml.Node, h header, digest Digest) {
	d := &decoder{object: h.ref()}
	k := kinds[h.kind]
	value := k.decode(d, root)
	d.require(root, "metadata", "name")
	d.name(root, k.name, "metadata", "name")
	p.problems = append(p.problems, d.problems...)
	p.unreadable = append(p.unreadable, d.parts...)
	if d.failed {
		u := h.unreadable()
		u.NoExclusion = h.kind == kindPolicy && !mayHaveKey(root, "mode") // whatever else the file has
		p.unreadable = append(p.unreadable, u)
		return
	}
	p.documents = append(p.documents, &document{header: h, value: value, lines: d.lines, digest: digest})
}

// mayHaveKey reports whether a map, or one in it, has a key, or what may be a typo of it.
func mayHaveKey(n *yaml.Node, key string) bool {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && (child.Value == key || nearest.IsTypo(child.Value, key)) || mayHaveKey(child, key) {
			return true
		}
	}
	return false
}
