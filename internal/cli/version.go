package cli

import (
	"runtime/debug"
	"time"
)

// Version returns the version of this build according to the Go tool: a tag, a pseudo-version, or "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// VersionDate returns the commit time of this build; the Unix epoch if unknown.
func VersionDate() time.Time {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
					return t
				}
			}
		}
	}
	return time.Unix(0, 0).UTC()
}
