package receivepack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Zero is the commit of a reference that does not exist.
const Zero = "0000000000000000000000000000000000000000"

// MaxCommands is the maximum number of references in one push.
const MaxCommands = 10_000

// ErrMalformed means that a push could not be parsed.
var ErrMalformed = errors.New("malformed push")

// Command moves a reference.
type Command struct{ Old, New, Ref string }

// Creates reports whether the command creates the reference.
func (c Command) Creates() bool { return c.Old == Zero }

// Deletes reports whether the command deletes the reference.
func (c Command) Deletes() bool { return c.New == Zero }

// Branch returns the name of the command's branch. ok is false for other references.
func (c Command) Branch() (string, bool) { return strings.CutPrefix(c.Ref, "refs/heads/") }

// Request is the first part of a push.
type Request struct {
	// Commands are in the order of the push. Empty if the client only checks for access.
	Commands []Command
	// Capabilities are the protocol features that the client supports.
	Capabilities []string
}

// Read reads the commands of a push but not the objects. Its error is [ErrMalformed], or the reader's.
func Read(r io.Reader) (Request, error) {
	var request Request
	for {
		line, err := readLine(r)
		if err != nil || line == nil {
			return request, err
		}
		if bytes.HasPrefix(line, []byte("shallow ")) {
			continue
		}
		if len(request.Commands) == 0 {
			before, capabilities, _ := bytes.Cut(line, []byte{0})
			line, request.Capabilities = before, strings.Fields(string(capabilities))
		}
		command, err := parseCommand(strings.TrimSuffix(string(line), "\n"))
		if err != nil {
			return Request{}, err
		}
		if len(request.Commands) == MaxCommands {
			return Request{}, fmt.Errorf("%w: more than %d references", ErrMalformed, MaxCommands)
		}
		request.Commands = append(request.Commands, command)
	}
}

// readLine returns the next line, or nil for a flush.
func readLine(r io.Reader) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, short(err)
	}
	length, err := strconv.ParseUint(string(prefix[:]), 16, 16)
	switch {
	case err != nil || (length > 0 && length <= 4) || length > 65520:
		return nil, fmt.Errorf("%w: a line of length %q", ErrMalformed, prefix)
	case length == 0:
		return nil, nil
	}
	line := make([]byte, length-4)
	if _, err := io.ReadFull(r, line); err != nil {
		return nil, short(err)
	}
	return line, nil
}

// short converts an unexpected end of input to [ErrMalformed], and returns other errors unchanged.
func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrMalformed)
	}
	return err
}

func parseCommand(line string) (Command, error) {
	fields := strings.SplitN(line, " ", 3)
	if len(fields) != 3 || !isHash(fields[0]) || !isHash(fields[1]) || !ValidRef(fields[2]) {
		return Command{}, fmt.Errorf("%w: command %q", ErrMalformed, line)
	}
	return Command{Old: fields[0], New: fields[1], Ref: fields[2]}, nil
}

func isHash(s string) bool {
	return len(s) == len(Zero) && strings.Trim(s, "0123456789abcdef") == ""
}

// ValidRef reports whether a name is valid for a reference below "refs/", by git's rules.
func ValidRef(name string) bool {
	rest, ok := strings.CutPrefix(name, "refs/")
	if !ok || !strings.Contains(rest, "/") || len(name) > 1000 {
		return false
	}
	if strings.ContainsAny(name, " ~^:?*[\\") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	})
}
