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
	// ErrNoSample means that a folder is not that of a sample.
	ErrNoSample = errors.New("there is no sample")
	// ErrNotEmpty means that there is something in a folder that no sample made.
	ErrNotEmpty = errors.New("the folder is not empty, and no sample made it")
)

// State says what a sample is. It is written before anything is made of it.
type State struct {
	// Format is 1.
	Format int `json:"format"`
	// Listen is the address that it is served on.
	Listen string `json:"listen"`
	// Made is when it was begun, which is also the time of its first commits.
	Made time.Time `json:"made"`
	// Site is where its repositories are.
	Site Site `json:"site"`
	// Forge is the kind of a forge that was there before; empty for the one that the server brings along.
	Forge string `json:"forge,omitempty"`
	// TokenEnv names the environment variable with the token for that forge.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// ID tells what this sample makes elsewhere from everything else there; see [State.Mark].
	ID string `json:"id"`
	// Clusters are the real ones that take part.
	Clusters []RealCluster `json:"clusters,omitempty"`
	// ClusterTokenEnv names the environment variable with the token that real clusters read repositories with; empty where
	// anybody may read.
	ClusterTokenEnv string `json:"clusterTokenEnv,omitempty"`
}

// RealCluster is a cluster that was there before, and takes part in a sample.
type RealCluster struct {
	// Name is what the sample calls it.
	Name string `json:"name"`
	// ClusterType is what it serves as, in every environment.
	ClusterType string `json:"clusterType"`
	// Context is that of the kubeconfig.
	Context string `json:"context"`
	// UID is that of the cluster: the same context may mean another one later.
	UID string `json:"uid"`
}

// Mark is what the descriptions of repositories say that were made for this sample. Without an ID there is none.
func (s State) Mark() string {
	if s.ID == "" {
		return ""
	}
	return "made by kalypso sample " + s.ID
}

const format = 1

// What is in the folder of a sample, and nothing else is taken away from it.
const (
	stateFile      = "kalypso-sample.json"
	controlFile    = "control-token"
	credentialFile = "git-credentials"
	logFile        = "server.log"
	dataFolder     = "data"
	clustersFolder = "clusters"
	runningFile    = "running"
)

// contents are in the order in which they are removed: what says that it is a sample comes last.
var contents = []string{runningFile, clustersFolder, dataFolder, logFile, credentialFile, controlFile, stateFile}

// Folder is what a sample has on this machine.
type Folder struct {
	Dir   string
	State State
}

// Open opens the folder of a sample. What is none is [ErrNoSample].
func Open(dir string) (*Folder, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoSample, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read what the sample is: %w", err)
	}
	f := &Folder{Dir: dir}
	if err := json.Unmarshal(text, &f.State); err != nil {
		return nil, fmt.Errorf("read what the sample is: %s: %w", filepath.Join(dir, stateFile), err)
	}
	if f.State.Format != format {
		return nil, fmt.Errorf("read what the sample is: %s has format %d, and this program knows %d", filepath.Join(dir, stateFile), f.State.Format, format)
	}
	return f, nil
}

// Vacant wants a folder to be new or empty, so that a sample can be made in it; else it is [ErrNotEmpty].
func Vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into the folder: %w", err)
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
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	s.Format = format
	f := &Folder{Dir: dir, State: s}
	return f, f.save()
}

// save writes the state, all of it or nothing.
func (f *Folder) save() error {
	text, err := json.MarshalIndent(f.State, "", "  ")
	if err == nil {
		err = agent.WriteFile(f.path(stateFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write what the sample is: %w", err)
	}
	return nil
}

func (f *Folder) path(name string) string { return filepath.Join(f.Dir, name) }

// Data is the folder of the server.
func (f *Folder) Data() string { return f.path(dataFolder) }

// Clusters is the folder of the clusters' credentials.
func (f *Folder) Clusters() string { return f.path(clustersFolder) }

// Running is a file that is there until the process that runs the sample has ended in order.
func (f *Folder) Running() string { return f.path(runningFile) }

// Log is the file that the server logs to.
func (f *Folder) Log() string { return f.path(logFile) }

// ControlToken is the file with the token for [Control].
func (f *Folder) ControlToken() string { return f.path(controlFile) }

// Credentials is the file from which git takes what a team pushes with, as "git credential-store" writes it.
func (f *Folder) Credentials() string { return f.path(credentialFile) }

// Remove removes what a sample has in its folder, and the folder when it is empty then. It returns what is left in it,
// because somebody else put it there.
func (f *Folder) Remove() (left []string, err error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, fmt.Errorf("look into the folder: %w", err)
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
