package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Subject is the kind of artifact that a scan is for.
type Subject string

// The subjects of scans.
const (
	Images Subject = "images"
	Charts Subject = "charts"
)

// Scan is a program that scans images or charts, once for each digest. See package scan.
type Scan struct {
	Name string  // required
	What Subject // required
	// Args are the program and its arguments, with placeholders for the artifact.
	Args []string // required
	// Timeout of one run. 0 means the default.
	Timeout time.Duration
	// RescanAfter is the maximum age of a result. 0 means no limit.
	RescanAfter time.Duration
	// ExitCodes mean that the program found something. Default: 1.
	ExitCodes []int
	// Signatures are verified instead of running a program; nil for a program.
	Signatures *Signatures
	// Level of its findings, unless the policy overrides it. Default: [Refuse].
	Level Level
}

// Signatures are what must be signed by whom.
type Signatures struct {
	// Keys are public keys in PEM.
	Keys    []string // required
	Require v1alpha1.SignatureKind
}

// Wanted returns the scans of a policy with their effective levels, without those that are off.
func (p Policy) Wanted() []Scan {
	var wanted []Scan
	for _, s := range p.Scans {
		s.Level = cmp.Or(p.Levels[s.Name], s.Level, Refuse)
		if s.Level != Off {
			wanted = append(wanted, s)
		}
	}
	return wanted
}

func scanOf(s v1alpha1.CheckScan) Scan {
	scan := Scan{Name: s.Name, What: Subject(s.What), Args: slices.Clone(s.Command.Args), Level: Level(s.Level)}
	if s.Command.Timeout != nil {
		scan.Timeout = s.Command.Timeout.Duration
	}
	if s.RescanAfter != nil {
		scan.RescanAfter = s.RescanAfter.Duration
	}
	if s.Signatures != nil {
		scan.Signatures = &Signatures{slices.Clone(s.Signatures.Keys), cmp.Or(s.Signatures.Require, v1alpha1.RequireSignature)}
	}
	for _, code := range s.Command.ExitCodes {
		scan.ExitCodes = append(scan.ExitCodes, int(code))
	}
	return scan
}
