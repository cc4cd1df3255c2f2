package ledger

import "strings"

// CleanSubject is the one spelling of the subject of a promotion: that of its repository, and after it "#" with the workload, where
// the subject is an application.
func CleanSubject(raw string) string {
	repository, workload := SplitSubject(strings.TrimSpace(raw))
	if workload == "" {
		return CleanRepository(raw)
	}
	return CleanRepository(repository) + "#" + workload
}

// SplitSubject divides the subject of a promotion. The workload is empty where it is a control plane.
func SplitSubject(subject string) (repository, workload string) {
	i := strings.LastIndex(subject, "#")
	if i <= 0 || strings.Contains(subject[i:], "/") {
		return subject, ""
	}
	return subject[:i], subject[i+1:]
}
