package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// trace identifies everything in an execution that the structure of its output can depend on:
// the path through the template's branches, and the printed values that are special in YAML.
// Outputs of executions with equal traces differ only in plain words; both parse, or neither does.
//
// Proof. The blocks entered, in order, determine which pieces of the template's text and which actions
// were executed. All printed values are part of the trace except plain words, so the outputs are equal
// except for plain words at the same places. A word counts as plain only where ([isValuePlace]) YAML reads
// it as part of the value of a key before it on the same line, or as part of a longer quoted or literal text,
// or where no word would be valid. In the value of a key, replacing a plain word by another changes only that value:
//
//   - It is not empty and has no special character: no colon before a blank, no '#', quote, bracket, comma,
//     ampersand, asterisk, exclamation mark, backslash, blank or line break; it does not begin with a dash.
//   - It is not at the beginning of a line, so it is not a key, a document marker or part of the indentation.
//   - It is short, so no limit of the parser is reached by one word and not by the other.
//
// The YAML type of the value can change: "null" and "1.5" are plain words. That matters only for keys of an object that must
// be strings. So in lines with "name", only words count as plain that are strings both alone and as part
// of a longer scalar; and in lines with apiVersion or kind, no word does, because those values are compared.
type trace struct {
	on  bool
	key []byte
	// words are the offsets of plain words from the beginning of the manifest: on the same lines in all outputs of one trace.
	words []int
}

func (t *trace) reset(on bool) { t.on, t.key, t.words = on, t.key[:0], t.words[:0] }

// shift adjusts the offsets after bytes before the first word were removed.
func (t *trace) shift(dropped int) {
	for i := range t.words {
		t.words[i] -= dropped
	}
}

// lines returns the lines of a text in which plain words were printed. The first line is 1.
func (t *trace) lines(text []byte) map[int]bool {
	lines := map[int]bool{}
	for _, at := range t.words {
		lines[1+bytes.Count(text[:max(0, min(at, len(text)))], []byte("\n"))] = true
	}
	return lines
}

// sum identifies the trace. The hash is cryptographic because values are untrusted:
// a collision would hide a broken document behind a valid one.
func (t *trace) sum() [sha256.Size]byte { return sha256.Sum256(t.key) }

// block records that a block was entered.
func (t *trace) block(number int) {
	if t.on {
		t.key = append(t.key, 'b')
		t.key = binary.AppendUvarint(t.key, uint64(number))
	}
}

// printed records that out[start:] was printed. The manifest begins at out[first:]. A plain word is recorded as such. In any other
// value, such as the YAML of a map, each of its words that is plain is, with the text between them, so that configurations that
// differ only in words have one trace.
func (t *trace) printed(out []byte, first, start int) {
	switch {
	case !t.on:
		return
	case isPlainAt(out[first:start], out[start:]):
		t.plain(out[start:], start-first)
		return
	}
	t.key = append(t.key, 'm')
	literal := start
	for at := start; at < len(out); {
		end := len(out)
		if n := bytes.IndexAny(out[at:], " \n"); n >= 0 {
			end = at + n
		}
		if isPlainAt(out[first:at], out[at:end]) {
			t.literal(out[literal:at])
			t.plain(out[at:end], at-first)
			literal = end
		}
		at = end + 1
	}
	t.literal(out[literal:])
	t.key = append(t.key, 'e')
}

// plain records a plain word at an offset from the beginning of the manifest. Quotes are part of the structure.
func (t *trace) plain(word []byte, at int) {
	kind := byte('p')
	if word[0] == '"' {
		kind = 'q'
	}
	t.key = append(t.key, kind)
	t.words = append(t.words, at)
}

func (t *trace) literal(text []byte) {
	t.key = append(t.key, 'v')
	t.key = binary.AppendUvarint(t.key, uint64(len(text)))
	t.key = append(t.key, text...)
}

const (
	maxWord   = 256 // bytes of a plain word
	maxPrefix = 256 // bytes before it on its line
)

// isPlainAt reports whether value, printed after before, is a plain word at a place where one can be.
func isPlainAt(before, value []byte) bool {
	if !isQuotedWord(value) && !isPlainWord(value) {
		return false
	}
	line := before[max(0, len(before)-maxPrefix):]
	end := bytes.LastIndexByte(line, '\n')
	if end < 0 && len(line) < len(before) {
		return false
	}
	line = line[end+1:]
	if value[0] == '"' {
		return isWholeValue(line) && !isCompared(line)
	}
	return isValuePlace(line) && !isCompared(line) && (!isName(line) || isSurelyText(value))
}

// isQuotedWord reports whether value is a plain word in double quotes. As a whole value it is always a string.
func isQuotedWord(value []byte) bool {
	return len(value) > 2 && value[0] == '"' && value[len(value)-1] == '"' && isPlainWord(value[1:len(value)-1])
}

// isPlainWord reports whether value has no special character of YAML.
func isPlainWord(value []byte) bool {
	if len(value) == 0 || len(value) > maxWord || value[0] == '-' {
		return false
	}
	for i, c := range value {
		if !isWordByte(c) && !(i > 0 && isInnerByte(value, i)) {
			return false
		}
	}
	return true
}

func isWordByte(c byte) bool {
	return isAlphanumeric(c) || c == '_' || c == '.' || c == '/' || c == '-'
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isInnerByte accepts characters of URLs if a harmless character follows: https://, git@host:path.
func isInnerByte(value []byte, i int) bool {
	switch value[i] {
	case ':', '@', '+', '~', '=':
		return i+1 < len(value) && (isAlphanumeric(value[i+1]) || value[i+1] == '/')
	default:
		return false
	}
}

// isValuePlace reports whether the end of this line prefix is within the value of a key:
// blanks, list dashes, a word, a colon and a blank, and then only words, quotes and blanks.
func isValuePlace(line []byte) bool {
	rest, ok := afterKey(line)
	if !ok {
		return false
	}
	for i, c := range rest {
		switch {
		case isWordByte(c), c == ' ', c == '"', c == '\'':
		case i > 0 && isInnerByte(rest, i):
		default:
			return false
		}
	}
	return true
}

// isWholeValue reports whether only blanks follow the key.
func isWholeValue(line []byte) bool {
	rest, ok := afterKey(line)
	return ok && len(bytes.TrimLeft(rest, " ")) == 0
}

// afterKey returns the rest of a line after its key.
func afterKey(line []byte) ([]byte, bool) {
	line = bytes.TrimLeft(line, " ")
	for len(line) > 1 && line[0] == '-' && line[1] == ' ' {
		line = bytes.TrimLeft(line[1:], " ")
	}
	n := 0
	for n < len(line) && isWordByte(line[n]) {
		n++
	}
	if n == 0 || n+1 >= len(line) || line[n] != ':' || line[n+1] != ' ' {
		return nil, false
	}
	return line[n+2:], true
}

// isCompared reports whether a line may have a key whose value is compared.
func isCompared(line []byte) bool {
	return bytes.Contains(line, []byte("apiVersion")) || bytes.Contains(line, []byte("kind"))
}

// isName reports whether a line may have a key whose value must be a string.
func isName(line []byte) bool { return bytes.Contains(line, []byte("name")) }

// isSurelyText reports whether any scalar that contains this word is a string:
// no number, date or boolean has a dash between two letters.
func isSurelyText(word []byte) bool {
	for i := 1; i+1 < len(word); i++ {
		if word[i] == '-' && isLetter(word[i-1]) && isLetter(word[i+1]) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return isAlphanumeric(c) && (c < '0' || c > '9') }
