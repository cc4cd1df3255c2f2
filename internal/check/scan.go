package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Subject says what a scan looks at.
type Subject string

// What scans look at.
const (
	Images Subject = "images"
	Charts Subject = "charts"
)

// Scan is a program that looks at images or charts, digest by digest. Package scan says what becomes of it.
type Scan struct {
	Name string  // required
	What Subject // required
	// Args are the program and its arguments, with placeholders for what is looked at.
	Args []string // required
	// Timeout is how long one run may take; 0 means the default.
	Timeout time.Duration
	// RescanAfter is how old what it found may be; 0 means that it counts for ever.
	RescanAfter time.Duration
	// ExitCodes are those by which the program says that it found something. None: 1.
	ExitCodes []int
	// Level is that of what it finds, unless the policy says otherwise. Default: [Refuse].
	Level Level
}

// Wanted are the scans of a policy with the levels that count, without those that are off.
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
	for _, code := range s.Command.ExitCodes {
		scan.ExitCodes = append(scan.ExitCodes, int(code))
	}
	return scan
}
