// Command corpus renders folders of public charts with Kalypso and with Helm, and compares the objects one by one.
//
// A chart is rendered with its own values. If it makes up values, it is rendered again with the sources of Secrets
// that Kalypso offers for them, and then with the chart's own values that Kalypso finds; Helm gets the same values.
// What makes up values differs each time, so these objects and checksums are not compared.
//
//	go -C tools/corpus run . --kalypso ../../bin/kalypso --helm helm FOLDER...
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	kalypso := flag.String("kalypso", "../../bin/kalypso", "the program")
	helm := flag.String("helm", "helm", "Helm")
	flag.Parse()
	if err := run(programs{*kalypso, *helm}, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// run compares all charts below folders, and prints each that is not rendered as it is, and how many there are of
// each kind.
func run(p programs, folders []string) error {
	var charts []string
	for _, folder := range folders {
		found, err := chartsBelow(folder)
		if err != nil {
			return err
		}
		charts = append(charts, found...)
	}
	if len(charts) == 0 {
		return fmt.Errorf("no charts in %q", folders)
	}
	counts := map[kind]int{}
	for _, chart := range charts {
		result, err := p.compare(chart)
		if err != nil {
			return fmt.Errorf("compare %s: %w", chart, err)
		}
		if counts[result.kind]++; result.detail != "" {
			fmt.Printf("%-24s %s: %s\n", result.kind, chart, result.detail)
		}
	}
	fmt.Printf("\n%d charts\n", len(charts))
	for _, k := range kinds {
		fmt.Printf("%6d %s\n", counts[k], k)
	}
	return nil
}

// chartsBelow returns the folders with a chart, without those that other charts depend on, and without library charts.
func chartsBelow(folder string) ([]string, error) {
	var charts []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "Chart.yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		inside := slices.ContainsFunc(charts, func(c string) bool { return strings.HasPrefix(dir, c+string(filepath.Separator)) })
		if err != nil || inside || strings.Contains("\n"+string(content), "\ntype: library") {
			return err
		}
		charts = append(charts, dir)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for charts: %w", err)
	}
	return charts, nil
}
