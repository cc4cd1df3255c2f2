package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// withPath returns commands to try next. If the program is not on the PATH, the first one puts it there: the others, and those of the
// documentation, call it kalypso.
func withPath(t *terminal.Terminal, commands ...string) []string {
	self, err := os.Executable()
	if err != nil || filepath.Base(self) != "kalypso" {
		return commands
	}
	for _, dir := range filepath.SplitList(t.Env["PATH"]) {
		if _, err := os.Stat(filepath.Join(dir, "kalypso")); err == nil {
			return commands
		}
	}
	return slices.Insert(commands, 0, "export PATH="+terminal.ShellWord(filepath.Dir(self))+":$PATH")
}
