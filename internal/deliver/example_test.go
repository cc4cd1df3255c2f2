package deliver_test

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// A draft holds what an environment's GitOps branch should contain, and what that changes.
func ExampleDrafter_Draft() {
	loader := &deliver.Loader{Repositories: shop(2), Charts: localCharts{}}
	drafter := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: loader}
	draft, err := drafter.Draft(context.Background(), deliver.DraftRequest{
		Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev",
		Build: deliver.Build{Version: "1.4.0", Image: "1.4.0"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(draft.Plan.Title())
	for _, t := range draft.Plan.Targets {
		fmt.Println(t.Op, t.Name, t.Objects, t.Images)
	}
	for _, c := range draft.Changes() {
		fmt.Println(c.Path)
	}
	// Output:
	// dev: deliver shop 1.4.0 (2 added)
	// added t000 [Deployment/shop-0] [registry.example/shop:1.4.0]
	// added t001 [Deployment/shop-0] [registry.example/shop:1.4.0]
	// .github/tracking/Image_tag
	// .github/tracking/Promoted_Commit_Id
	// .github/tracking/Version
	// .kalypso/deliveries/shop.json
	// .kalypso/t000/descriptor.yaml
	// .kalypso/t000/values.yaml
	// .kalypso/t001/descriptor.yaml
	// .kalypso/t001/values.yaml
	// t000/kustomization.yaml
	// t000/manifests.yaml
	// t001/kustomization.yaml
	// t001/manifests.yaml
}
