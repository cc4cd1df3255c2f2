package comply_test

import (
	"fmt"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// BenchmarkJudge gives the verdict on an environment of 10,000 clusters, some of them behind and offline.
func BenchmarkJudge(b *testing.B) {
	for _, perCluster := range []int{1, 50} {
		b.Run(fmt.Sprintf("reconcilers=%d", perCluster), func(b *testing.B) {
			q := largeQuestion(10_000, perCluster)
			b.ReportAllocs()
			for b.Loop() {
				if v := comply.Judge(q, at("10:10")); v.Counts.Reached != 9_000 {
					b.Fatal(v.Reason)
				}
			}
		})
	}
}

func largeQuestion(clusters, perCluster int) comply.Question {
	q := comply.Question{
		Commit: hash("c5"), Published: at("10:00"),
		History: comply.HistoryOf(map[string]bool{hash("c4"): false, hash("c5"): true}),
	}
	var fleet []comply.Cluster
	for i := range clusters {
		name, commit := fmt.Sprintf("large-%05d", i), "c5"
		if i%10 == 0 {
			commit = "c4"
		}
		fleet = append(fleet, comply.Cluster{
			Name: name, Memberships: []comply.Membership{{Environment: "dev", ClusterType: "large"}}, Heard: at("10:09"),
		})
		for r := range perCluster {
			o := comply.Observation{
				Cluster: name, Reconciler: fmt.Sprintf("Kustomization flux-system/r%02d", r),
				Source:   hub.Source{Repository: "https://git.example/apps/shop", Ref: "dev"},
				Revision: revision(commit), State: hub.StateReady, Observed: at("10:05"),
			}
			if r == 0 {
				o.Source.Repository, o.Source.Path = gitOps, "large"
			}
			q.Observations = append(q.Observations, o)
		}
	}
	q.Expected = comply.ExpectPlatform(fleet, "dev", hub.Source{Repository: gitOps, Ref: "dev"}, comply.Folders{})
	return q
}

// BenchmarkTimeline gives the timeline of an environment of 10,000 clusters, each with four outcomes and one silence.
func BenchmarkTimeline(b *testing.B) {
	q := comply.TimelineQuestion{Question: largeQuestion(10_000, 1)}
	for _, o := range q.Observations {
		for i, commit := range []string{"c4", "c4", "c5", "c5"} {
			past := comply.Past{Observation: o}
			past.Revision, past.Observed = revision(commit), at("10:00").Add(time.Duration(i)*time.Minute)
			if past.Until = past.Observed.Add(time.Minute); i == 3 {
				past.Until = time.Time{}
			}
			q.Outcomes = append(q.Outcomes, past)
		}
		q.Silences = append(q.Silences, comply.Silence{Cluster: o.Cluster, From: at("10:03"), To: at("10:09")})
	}
	b.ReportAllocs()
	for b.Loop() {
		if spans := comply.Timeline(q, at("10:10")); spans[len(spans)-1].Standing != comply.StandingHolds {
			b.Fatal(spans)
		}
	}
}
