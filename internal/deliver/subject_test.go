package deliver_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
)

func TestSubjects(t *testing.T) {
	for subject, workload := range map[string]string{
		deliver.SubjectOf("https://git.example.com/team/shop.git", "shop"): "shop",
		deliver.SubjectOf("git@git.example.com:team/shop.git", "shop.web"): "shop.web",
		deliver.SubjectOf("/srv/git/odd#name/shop", "shop"):                "shop",
		"https://git.example.com/platform/control-plane":                   "",
		"/srv/git/odd#name/control-plane":                                  "",
		"https://git.example.com/platform/control-plane#":                  "",
		"#": "",
		"":  "",
	} {
		got, ok := deliver.WorkloadOf(subject)
		if got != workload || ok != (workload != "") {
			t.Errorf("%q: got %q %v, want %q", subject, got, ok, workload)
		}
	}
	if a, b := deliver.SubjectOf("git@git.example.com:team/shop.git", "shop"), deliver.SubjectOf("https://git.example.com/team/shop", "shop"); a != b {
		t.Errorf("one repository has two subjects: %q and %q", a, b)
	}
}
