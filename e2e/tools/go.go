package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// source is a module in the module cache.
type source struct {
	Version, Dir string
}

// download puts a module into the module cache, in the version that the module in the folder from pins.
func download(ctx context.Context, from, module string) (source, error) {
	out, err := run(ctx, from, false, "mod", "download", "-json", module)
	if err != nil {
		return source{}, err
	}
	var found source
	if err := json.Unmarshal(out, &found); err != nil {
		return source{}, fmt.Errorf("read where %s is: %w", module, err)
	}
	return found, nil
}

// run runs the go command in a folder, with or without cgo, and returns what it says.
func run(ctx context.Context, dir string, cgo bool, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// What is built depends on the folder's go.mod, and not on workspaces and flags around it. Gitea's database needs cgo.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	if cgo {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s, in %s: %w\n%s", args[0], dir, err, &errors)
	}
	return out.Bytes(), nil
}
