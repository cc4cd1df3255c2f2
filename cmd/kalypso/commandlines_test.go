package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// TestGuidesCallCommandsThatExist: every kalypso command in the guides has the words and flags that this program has.
func TestGuidesCallCommandsThatExist(t *testing.T) {
	called := 0
	for name, text := range pages(t, "../../docs/how-to") {
		for _, line := range kalypsoLines(codeOf(text)) {
			called++
			if err := parseCommandLine(line); err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
	}
	if called < 60 {
		t.Errorf("only %d commands found", called)
	}
}

func TestParseCommandLine(t *testing.T) {
	for _, good := range []string{
		`kalypso plan -e dev --main . --base-main HEAD -o markdown`, `kalypso init gitops gitops`, `kalypso promote pause prod --why "sale until Monday"`,
		`kalypso status --server=https://example.com`, `kalypso serve --config kalypso.yaml --check-config`, `kalypso promote`,
	} {
		if err := parseCommandLine(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		`kalypso plan -e dev --nope`, `kalypso plann -e dev`, `kalypso promote nope prod`, `kalypso init gitops`, `kalypso init gitops a b`,
		`kalypso plan -e dev -o xml`, `kalypso plan dev`,
	} {
		if err := parseCommandLine(bad); err == nil {
			t.Errorf("%s: got no error", bad)
		}
	}
}

var (
	indented = regexp.MustCompile(`(?m)^(?:    |\t).*$`)
	fenced   = regexp.MustCompile("(?s)```(?:sh|console|yaml)?\n(.*?)```")
	inline   = regexp.MustCompile("`(kalypso [^`]+)`")
)

// codeOf returns what a page shows as commands: its blocks, and the pieces of its text that begin with the program's name.
func codeOf(page string) string {
	var code strings.Builder
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		fmt.Fprintln(&code, block[1])
	}
	rest := fenced.ReplaceAllString(page, "")
	for _, line := range indented.FindAllString(rest, -1) {
		fmt.Fprintln(&code, line)
	}
	for _, piece := range inline.FindAllStringSubmatch(rest, -1) {
		fmt.Fprintln(&code, piece[1])
	}
	return code.String()
}

// call is the program at the beginning of a command: of a line, a list item, or after what a shell joins commands with.
var call = regexp.MustCompile(`(?m)(?:^|[-|;&]|run:|bash:)\s*(?:\$ )?(kalypso [^\n|;&>]+)`)

// kalypsoLines returns the calls of kalypso in a script.
func kalypsoLines(script string) []string {
	script = regexp.MustCompile(`\\\n\s*`).ReplaceAllString(script, "")
	script = regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(script, "")
	var lines []string
	for _, m := range call.FindAllStringSubmatch(script, -1) {
		lines = append(lines, strings.TrimSpace(m[1]))
	}
	return lines
}

// parseCommandLine finds the command that a line calls, and reads its flags and arguments, as the program would before it begins.
func parseCommandLine(line string) error {
	words, err := shellWords(line)
	if err != nil {
		return err
	}
	root := newRoot(terminal.New(nil, strings.NewReader(""), io.Discard, io.Discard))
	cmd, rest, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	args := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(args) > 0 && cmd.Name() != "promote" {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), args[0])
	}
	return valid(cmd, args)
}

func valid(cmd *cobra.Command, args []string) error {
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return err
	}
	return cmd.ValidateArgs(args)
}

// withDefault is a variable with what stands for it where it is empty.
var withDefault = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)

// shellWords splits a line as a shell does. Variables stay as they are written; of those with a default, that counts.
func shellWords(line string) ([]string, error) {
	line = withDefault.ReplaceAllString(line, "$1")
	var words []string
	var word strings.Builder
	quote, inWord := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case quote == 0 && r == '#' && !inWord:
			return words, nil
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
