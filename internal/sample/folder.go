package sample

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/agent"
)

// Errors about folders. Match with errors.Is.
var (
	// ErrNoSample means that a folder does not contain a sample.
	ErrNoSample = errors.New("no sample")
	// ErrNotEmpty means that a folder contains something else.
	ErrNotEmpty = errors.New("the folder is not empty, and does not contain a sample")
)

// State describes a sample. It is written before anything is created.
type State struct {
	// Format is 1.
	Format int `json:"format"`
	// Listen is the address of the server.
	Listen string `json:"listen"`
	// Made is when the sample was created, which is also the time of its first commits.
	Made time.Time `json:"made"`
	// Site says where the repositories are.
	Site Site `json:"site"`
	// Forge is the kind of an existing forge; empty for the embedded one.
	Forge string `json:"forge,omitempty"`
	// TokenEnv names the environment variable with the token for that forge.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// ID distinguishes what this sample creates elsewhere; see [State.Mark].
	ID string `json:"id"`
	// Clusters are the real clusters.
	Clusters []RealCluster `json:"clusters,omitempty"`
	// ClusterTokenEnv names the environment variable with the token that real clusters read repositories with; empty for
	// public repositories.
	ClusterTokenEnv string `json:"clusterTokenEnv,omitempty"`
}

// RealCluster is an existing cluster that takes part in a sample.
type RealCluster struct {
	// Name is its name in the sample.
	Name string `json:"name"`
	// ClusterType is its type in every environment.
	ClusterType string `json:"clusterType"`
	// Context is the kubeconfig context.
	Context string `json:"context"`
	// UID identifies the cluster: the context may point to another one later.
	UID string `json:"uid"`
}

// Mark returns the mark in the descriptions of this sample's repositories; empty without an ID.
func (s State) Mark() string {
	if s.ID == "" {
		return ""
	}
	return "made by kalypso sample " + s.ID
}

const format = 1

// The files in the folder of a sample. Nothing else is removed from it.
const (
	stateFile      = "kalypso-sample.json"
	controlFile    = "control-token"
	credentialFile = "git-credentials"
	logFile        = "server.log"
	dataFolder     = "data"
	clustersFolder = "clusters"
	runningFile    = "running"
)

// contents are in the order of removal: the state comes last.
var contents = []string{runningFile, clustersFolder, dataFolder, logFile, credentialFile, controlFile, stateFile}

// Folder is the folder of a sample on this machine.
type Folder struct {
	Dir   string
	State State
}

// Open opens the folder of a sample, or returns [ErrNoSample].
func Open(dir string) (*Folder, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoSample, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the sample: %w", err)
	}
	f := &Folder{Dir: dir}
	if err := json.Unmarshal(text, &f.State); err != nil {
		return nil, fmt.Errorf("read the sample: %s: %w", filepath.Join(dir, stateFile), err)
	}
	if f.State.Format != format {
		return nil, fmt.Errorf("read the sample: %s has format %d, and this program knows %d", filepath.Join(dir, stateFile), f.State.Format, format)
	}
	return f, nil
}

// Vacant returns [ErrNotEmpty] unless a folder is new or empty, so that a sample can be created in it.
func Vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%w: %s", ErrNotEmpty, dir)
	}
	return nil
}

// Create makes the folder of a sample, which must be [Vacant].
func Create(dir string, s State) (*Folder, error) {
	if err := Vacant(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder: %w", err)
	}
	s.Format = format
	f := &Folder{Dir: dir, State: s}
	return f, f.save()
}

// save writes the state atomically.
func (f *Folder) save() error {
	text, err := json.MarshalIndent(f.State, "", "  ")
	if err == nil {
		err = agent.WriteFile(f.path(stateFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the sample: %w", err)
	}
	return nil
}

func (f *Folder) path(name string) string { return filepath.Join(f.Dir, name) }

// Data returns the server's data folder.
func (f *Folder) Data() string { return f.path(dataFolder) }

// Clusters returns the folder of the clusters' credentials.
func (f *Folder) Clusters() string { return f.path(clustersFolder) }

// Running returns a file that exists until the process that runs the sample has ended properly.
func (f *Folder) Running() string { return f.path(runningFile) }

// Log returns the file that the server logs to.
func (f *Folder) Log() string { return f.path(logFile) }

// ControlToken returns the file with the token for [Control].
func (f *Folder) ControlToken() string { return f.path(controlFile) }

// Credentials returns the file with the teams' git credentials, in the format of "git credential-store".
func (f *Folder) Credentials() string { return f.path(credentialFile) }

// Remove removes the files of a sample from its folder, and then the folder if it is empty. It returns the files
// that are left because they do not belong to the sample.
func (f *Folder) Remove() (left []string, err error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder: %w", err)
	}
	for _, e := range entries {
		if !slices.Contains(contents, e.Name()) {
			left = append(left, e.Name())
		}
	}
	for _, name := range contents {
		if err := os.RemoveAll(f.path(name)); err != nil {
			return left, fmt.Errorf("remove the sample: %w", err)
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	if err := os.Remove(f.Dir); err != nil {
		return nil, fmt.Errorf("remove the sample: %w", err)
	}
	return nil, nil
}
