// Command mutants breaks the invariants of ARCHITECTURE.md one by one, and expects the tests that guard them to fail.
//
//	make mutants                        all of them
//	go -C tools/mutants run . budget    those with "budget" in their name or file
//
// A mutant is a line of the program, written as a mistake would write it. The compiler gets the mutated file as an overlay, so the
// checkout does not change. A mutant that no test notices means that the guard of the invariant is too weak, and the guard is what to
// mend. See table.go for the mutants.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	root := flag.String("root", "../..", "the folder of the repository")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tries the mutants, and prints what came of each. It returns an error if one survived, or could not be tried.
func run(ctx context.Context, root string, names []string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if err := check(root, mutants); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := &runner{root: root, scratch: scratch, sound: map[string]error{}}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "INVARIANT\tMUTANT\tGUARD\tRESULT")
	var bad []error
	for _, m := range mutants {
		if !m.named(names) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%d: %s\n", m.invariant, m.name)
		result := "killed"
		if err := r.try(ctx, m); err != nil {
			result = "SURVIVED"
			if !errors.Is(err, errSurvived) {
				result = "NOT TRIED"
			}
			bad = append(bad, fmt.Errorf("%s (%s): %w", m.name, m.file, err))
		}
		fmt.Fprintf(out, "%d\t%s\t%s %s\t%s\n", m.invariant, m.name, m.pkg, m.run, result)
	}
	return errors.Join(out.Flush(), errors.Join(bad...))
}

// named reports whether one of some texts is in the name or file of a mutant. Without texts, all mutants are meant.
func (m mutant) named(texts []string) bool {
	for _, text := range texts {
		if strings.Contains(m.name, text) || strings.Contains(m.file, text) {
			return true
		}
	}
	return len(texts) == 0
}

// check returns an error for each mutant whose old text is not in its file exactly once, or whose tests do not exist.
func check(root string, all []mutant) error {
	var stale []error
	for _, m := range all {
		content, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			stale = append(stale, err)
			continue
		}
		if n := bytes.Count(content, []byte(m.old)); n != 1 {
			stale = append(stale, fmt.Errorf("the table is stale: %s has %d times, instead of once:\n%s", m.file, n, m.old))
		}
		if m.old == m.new {
			stale = append(stale, fmt.Errorf("%s: the mutant %q changes nothing", m.file, m.name))
		}
		for test := range strings.SplitSeq(m.run, "|") {
			if !hasTest(filepath.Join(root, m.pkg), test) {
				stale = append(stale, fmt.Errorf("the table is stale: %s has no test %s", m.pkg, test))
			}
		}
	}
	return errors.Join(stale...)
}

func hasTest(folder, test string) bool {
	return mentioned(folder, "func "+test+"(t *testing.T) {")
}

// mentioned reports whether a test file of a folder has a text.
func mentioned(folder, text string) bool {
	files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && bytes.Contains(content, []byte(text)) {
			return true
		}
	}
	return false
}

// runner runs tests with and without mutants.
type runner struct {
	root, scratch string
	// sound has the result of tests without a mutant, by package and tests.
	sound map[string]error
}

var errSurvived = errors.New("no test fails; make the guard of the invariant stronger")

// try returns nil if the tests fail with the mutant, and succeed without it.
func (r *runner) try(ctx context.Context, m mutant) error {
	key := m.pkg + " " + m.run
	if _, known := r.sound[key]; !known {
		r.sound[key] = r.passes(ctx, m)
	}
	if r.sound[key] != nil {
		return fmt.Errorf("without the mutant: %w", r.sound[key])
	}
	overlay, err := r.overlay(m)
	if err != nil {
		return err
	}
	binary, err := r.compile(ctx, m.pkg, "-overlay", overlay)
	if err != nil {
		return err
	}
	defer os.Remove(binary)
	switch out, err := r.test(ctx, binary, m); {
	case err == nil:
		return errSurvived
	case !bytes.Contains(out, []byte("--- FAIL: ")):
		return fmt.Errorf("the tests ended without a failure of one of them: %w\n%s", err, last(out))
	}
	return nil
}

// passes returns an error unless the tests succeed without a mutant.
func (r *runner) passes(ctx context.Context, m mutant) error {
	binary, err := r.compile(ctx, m.pkg)
	if err != nil {
		return err
	}
	defer os.Remove(binary)
	if out, err := r.test(ctx, binary, m); err != nil {
		return fmt.Errorf("%s fails: %w\n%s", m.run, err, last(out))
	}
	return nil
}

// overlay writes the mutated file, and the file by which the compiler finds it.
func (r *runner) overlay(m mutant) (string, error) {
	original := filepath.Join(r.root, m.file)
	content, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(r.scratch, "mutated.go")
	if err := os.WriteFile(mutated, bytes.Replace(content, []byte(m.old), []byte(m.new), 1), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.scratch, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// compile compiles the tests of a package. A mutant that does not compile is a mistake in the table.
func (r *runner) compile(ctx context.Context, pkg string, flags ...string) (string, error) {
	binary := filepath.Join(r.scratch, "guard.test")
	args := append([]string{"test", "-c", "-vet=off", "-o", binary}, flags...)
	build := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	return binary, nil
}

// testTime is more than enough for the tests of one guard.
const testTime = 10 * time.Minute

// test runs the tests of a guard. They do not write what they found: rapid would store its input in the checkout.
func (r *runner) test(ctx context.Context, binary string, m mutant) ([]byte, error) {
	folder := filepath.Join(r.root, m.pkg)
	args := []string{"-test.run", "^(" + m.run + ")$", "-test.v", "-test.timeout", testTime.String()}
	if mentioned(folder, `"pgregory.net/rapid"`) {
		args = append(args, "-rapid.nofailfile")
	}
	test := exec.CommandContext(ctx, binary, args...)
	test.Dir = folder
	out, err := test.CombinedOutput()
	if err == nil && !bytes.Contains(out, []byte("--- PASS: ")) {
		err = errors.New("no test ran")
	}
	return out, err
}

// last returns the end of an output.
func last(out []byte) []byte {
	const length = 2000
	return out[max(0, len(out)-length):]
}
