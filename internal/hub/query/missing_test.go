package query_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

func TestMissingValuesOfTargets(t *testing.T) {
	platform := []fleet.Problem{
		{Severity: fleet.SeverityError, Kind: fleet.KindConfigMissing, Assignment: "large/shop-web", Message: "URL is required, but missing", Lacks: "URL", SetBy: "dba"},
		{Severity: fleet.SeverityWarning, Kind: fleet.KindConfigMissing, Assignment: "small/shop-web", Message: "URL is required, but missing", Lacks: "URL", SetBy: "dba"},
		{Severity: fleet.SeverityError, Kind: fleet.KindConfigValue, Assignment: "small/shop-web", Message: "PORT must be an integer"},
	}
	own := []fleet.Problem{{Severity: fleet.SeverityError, Kind: fleet.KindConfigValue, Assignment: "web", Message: "the values: missing", Lacks: "image.tag, owner"}}
	o := &query.Observer{Fleet: planes{{
		URL: "https://git.example.com/fleet", Scheduling: map[string]*query.Scheduled{"dev": {Outcome: &schedule.Outcome{Plan: &plan.Plan{Problems: platform}}}},
		Applications: []*query.Application{{Name: "shop", Environments: []query.ApplicationEnvironment{
			{Environment: "dev", Detail: &query.ApplicationEnvironmentDetail{ProblemList: own}}, {Environment: "prod"},
		}}},
	}}}
	for _, c := range []struct {
		q    query.MissingQuery
		want []string
	}{
		{query.MissingQuery{}, []string{"dev  shop-web large URL dba true", "dev  shop-web small URL dba false", "dev shop web  image.tag  true", "dev shop web  owner  true"}},
		{query.MissingQuery{Application: "shop"}, []string{"dev shop web  image.tag  true", "dev shop web  owner  true"}},
		{query.MissingQuery{Environment: "prod"}, nil},
		{query.MissingQuery{ControlPlane: "https://git.example.com/other"}, nil},
	} {
		found, err := o.Missing(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range found.Items {
			got = append(got, fmt.Sprintf("%s %s %s %s %s %s %v", m.Environment, m.Application, m.Target, m.ClusterType, m.Key, m.SetBy, m.Holds))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: %s", c.q, diff)
		}
	}
}
