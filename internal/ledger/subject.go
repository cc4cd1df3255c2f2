package ledger

import "strings"

// CleanSubject returns the subject of a promotion with its repository as [CleanRepository] returns it. The subject of an
// application ends with "#" and the workload.
func CleanSubject(raw string) string {
	repository, workload := SplitSubject(strings.TrimSpace(raw))
	if workload == "" {
		return CleanRepository(raw)
	}
	return CleanRepository(repository) + "#" + workload
}

// SplitSubject splits the subject of a promotion. The workload is empty for a control plane.
func SplitSubject(subject string) (repository, workload string) {
	i := strings.LastIndex(subject, "#")
	if i <= 0 || strings.Contains(subject[i:], "/") {
		return subject, ""
	}
	return subject[:i], subject[i+1:]
}
