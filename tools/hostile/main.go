// Command hostile sends hostile inputs to a real server, one after another, and measures what each takes of it.
//
// An input is a few kilobytes that would be gigabytes or hours: a Git pack, a tree, YAML, an expression, a chart, a template, a push, a body. The
// server runs as its container does, with a limit on its memory; the peak of it and of its renderers together is measured.
//
//	go -C tools/hostile run . --kalypso ../../bin/kalypso            a sample of each kind
//	go -C tools/hostile run . --kalypso ../../bin/kalypso --all      all of them
//	go -C tools/hostile run . --kalypso ../../bin/kalypso NAME...    those whose name contains one of the texts
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// maxMemory is what the server and its renderers may take together, in bytes.
	maxMemory = 700 << 20
	// maxProcessor is how long they may keep a processor busy.
	maxProcessor = 10 * time.Second
	// wantReady is how soon the server says that it is ready meanwhile. A machine may be busy with other things, so that a longer time is only
	// shown, and maxReady fails: it hangs.
	wantReady = time.Second
	maxReady  = time.Minute
	// limit is the memory of the container.
	limit = 1 << 30
	// addresses is the address space of the server. Go reserves far more than it uses.
	addresses = 8 << 30
)

func main() {
	program := flag.String("kalypso", "../../bin/kalypso", "the program")
	verbose := flag.Bool("v", false, "print the answers of the server")
	all := flag.Bool("all", false, "send all inputs, instead of a sample")
	flag.Parse()
	if err := run(*program, *verbose, chosen(attacks(), *all, flag.Args())); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// chosen returns the attacks that are sent: those whose name contains one of the texts, or without texts, every third of each kind.
func chosen(attacks []attack, all bool, texts []string) []attack {
	kinds := map[string]int{}
	return slices.DeleteFunc(attacks, func(a attack) bool {
		if len(texts) > 0 {
			return !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(a.name, text) })
		}
		kind, _, _ := strings.Cut(a.name, ":")
		kinds[kind]++
		return !all && kinds[kind]%3 != 1
	})
}

func run(program string, verbose bool, attacks []attack) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	w, err := start(program, folder)
	if err != nil {
		return err
	}
	defer w.stop()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		w.stop()
		os.Exit(1)
	}()
	failed := 0
	fmt.Printf("%-34s %9s %11s %9s  %s\n", "input", "peak", "processor", "ready in", "answer")
	for _, a := range attacks {
		if !w.try(a, verbose) {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d inputs take more than %d MiB or %s, or end the server; its log is above", failed, maxMemory>>20, maxProcessor)
	}
	return nil
}

// try sends an input, prints what it took, and reports whether that is within the limits.
func (w *world) try(a attack, verbose bool) bool {
	if err := w.settle(); err != nil {
		fmt.Printf("%-34s the server does not become ready: %v\n%s\n", a.name, err, w.tail())
		return false
	}
	m := w.measure()
	answer, err := a.send(w)
	took := m.end()
	if (took.memory > maxMemory || took.processor > maxProcessor) && w.alive() {
		// The server gives memory back slowly, and its rounds go on meanwhile, so that some can be for the inputs before.
		fmt.Printf("%-34s %5d MiB %9.1f s: once more, to a server that has just started\n", a.name, took.memory>>20, took.processor.Seconds())
		if err := w.renew(); err != nil {
			fmt.Printf("    it does not start again: %v\n%s\n", err, w.tail())
			return false
		}
		m = w.measure()
		answer, err = a.send(w)
		took = m.end()
	}
	var wrong []string
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	if took.memory > maxMemory {
		wrong = append(wrong, fmt.Sprintf("TOO MUCH MEMORY: more than %d MiB", maxMemory>>20))
	}
	if took.processor > maxProcessor {
		wrong = append(wrong, fmt.Sprintf("TOO LONG: more than %s", maxProcessor))
	}
	switch {
	case took.ready > maxReady:
		wrong = append(wrong, "NOT READY for "+maxReady.String())
	case took.ready > wantReady:
		answer += fmt.Sprintf(" (ready in more than %s: is the machine busy?)", wantReady)
	}
	if !w.alive() {
		wrong = append(wrong, "THE SERVER ENDED")
	}
	fmt.Printf("%-34s %5d MiB %9.1f s %7.2f s  %s\n", a.name, took.memory>>20, took.processor.Seconds(), took.ready.Seconds(), shorten(answer, 90))
	for _, text := range wrong {
		fmt.Printf("    %s\n", text)
	}
	if verbose {
		fmt.Println(answer)
	}
	if !w.alive() {
		fmt.Println(w.tail())
		if err := w.restart(); err != nil {
			fmt.Println("    it does not start again:", err)
		}
	}
	return len(wrong) == 0
}

func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
