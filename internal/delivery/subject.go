package delivery

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// SubjectOf is what the ledger knows the application of a workload by: the URL of its source with "#" and the name of the workload.
// It stays the same when the repository gets another workload, and no control plane has such a subject.
func SubjectOf(source, workload string) string {
	return ledger.CleanRepository(source) + "#" + workload
}

// WorkloadOf returns the workload of a subject; ok is false when it is that of a control plane.
func WorkloadOf(subject string) (workload string, ok bool) {
	i := strings.LastIndex(subject, "#")
	if i <= 0 || i == len(subject)-1 || strings.Contains(subject[i:], "/") {
		return "", false
	}
	return subject[i+1:], true
}
