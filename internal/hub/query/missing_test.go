package query_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

func TestMissingValuesOfTargets(t *testing.T) {
	assigned := func(clusterType, cluster string, problems ...fleet.Problem) *bundle.Folder {
		return &bundle.Folder{Assignments: []bundle.Assignment{{ClusterType: clusterType, Cluster: cluster, Target: "shop-web", Config: &config.Composed{Lacks: problems}}}}
	}
	held := fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindConfigMissing, Message: "URL is required, but missing", Lacks: "URL", SetBy: "dba"}
	warned := held
	warned.Severity = fleet.SeverityWarning
	platform := &bundle.Bundle{Folders: []*bundle.Folder{
		assigned("large", "", held), assigned("small", "", warned),
		assigned("small", "small-1", held),
	}}
	own := []fleet.Problem{{Severity: fleet.SeverityError, Kind: fleet.KindConfigValue, Assignment: "web", Message: "the values: missing", Lacks: "image.tag, owner"}}
	o := &query.Observer{Fleet: planes{{
		URL: "https://git.example.com/fleet", Scheduling: map[string]*query.Scheduled{"dev": {Outcome: &schedule.Outcome{Loaded: &schedule.Loaded{}, Bundle: platform}}},
		Applications: []*query.Application{{Name: "shop", Environments: []query.ApplicationEnvironment{
			{Environment: "dev", Detail: &query.ApplicationEnvironmentDetail{ProblemList: own}}, {Environment: "prod"},
		}}},
	}}}
	for _, c := range []struct {
		q    query.MissingQuery
		want []string
	}{
		{query.MissingQuery{}, []string{"dev  shop-web large URL dba true", "dev  shop-web small URL dba false", "dev  shop-web small/small-1 URL dba true", "dev shop web  image.tag  true", "dev shop web  owner  true"}},
		{query.MissingQuery{Application: "shop"}, []string{"dev shop web  image.tag  true", "dev shop web  owner  true"}},
		{query.MissingQuery{Target: "shop-web", Environment: "dev", Application: "shop"}, []string{"dev shop web  image.tag  true", "dev shop web  owner  true"}},
		{query.MissingQuery{Target: "shop-we"}, nil},
		{query.MissingQuery{Environment: "prod"}, nil},
		{query.MissingQuery{ControlPlane: "https://git.example.com/other"}, nil},
	} {
		found, err := o.Missing(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range found.Items {
			if m.Cluster != "" {
				m.ClusterType += "/" + m.Cluster
			}
			got = append(got, fmt.Sprintf("%s %s %s %s %s %s %v", m.Environment, m.Application, m.Target, m.ClusterType, m.Key, m.SetBy, m.Holds))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: %s", c.q, diff)
		}
	}
}
