package delivery_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/delivery"
)

func TestSubjects(t *testing.T) {
	for subject, workload := range map[string]string{
		delivery.SubjectOf("https://git.example.com/team/shop.git", "shop"): "shop",
		delivery.SubjectOf("git@git.example.com:team/shop.git", "shop.web"): "shop.web",
		delivery.SubjectOf("/srv/git/odd#name/shop", "shop"):                "shop",
		"https://git.example.com/platform/control-plane":                    "",
		"/srv/git/odd#name/control-plane":                                   "",
		"https://git.example.com/platform/control-plane#":                   "",
		"#": "",
		"":  "",
	} {
		got, ok := delivery.WorkloadOf(subject)
		if got != workload || ok != (workload != "") {
			t.Errorf("%q: got %q %v, want %q", subject, got, ok, workload)
		}
	}
	if a, b := delivery.SubjectOf("git@git.example.com:team/shop.git", "shop"), delivery.SubjectOf("https://git.example.com/team/shop", "shop"); a != b {
		t.Errorf("one repository has two subjects: %q and %q", a, b)
	}
}
