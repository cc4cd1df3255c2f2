// Command export writes the patterns of gitleaks for package check.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/kalypso-io/kalypso/judges/gitleaks"
)

func main() {
	out := flag.String("out", "", "the `file` to write")
	flag.Parse()
	text, err := gitleaks.Export()
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
