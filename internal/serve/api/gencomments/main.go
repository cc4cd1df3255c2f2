// Command gencomments writes what the API's description takes from Go's source: the comments of the types that it
// answers and takes, and the description itself.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/kalypso-io/kalypso/internal/serve/api"
)

func main() {
	root := flag.String("root", "../../..", "`folder` of the module")
	out := flag.String("out", "", "`file` the comments are written to")
	openapi := flag.String("openapi", "", "`file` the description is written to, in YAML")
	flag.Parse()
	if err := run(*root, *out, *openapi); err != nil {
		fmt.Fprintln(os.Stderr, "gencomments:", err)
		os.Exit(1)
	}
}

func run(root, out, openapi string) error {
	comments, err := generate(root, api.Types())
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, comments, 0o644); err != nil {
		return err
	}
	text, err := api.Describe(comments)
	if err != nil {
		return err
	}
	return os.WriteFile(openapi, text, 0o644)
}

// encode writes the comments as JSON, sorted, so that the file is the same on every run.
func encode(comments map[string]string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(comments)
	return text.Bytes(), err
}
