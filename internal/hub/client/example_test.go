package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/kalypso-io/kalypso/internal/hub/client"
)

func ExampleClient_Get() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/environments/dev" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"detail": "there is no such environment", "next": "ask for dev"}`)
			return
		}
		fmt.Fprint(w, `{"name": "dev", "phase": "good"}`)
	}))
	defer server.Close()

	address, err := url.Parse(server.URL)
	if err != nil {
		panic(err)
	}
	c := &client.Client{Server: address, UserAgent: "example"}
	var environment struct{ Name, Phase string }
	if err := c.Get(context.Background(), client.Path("environments", "dev"), nil, &environment); err != nil {
		panic(err)
	}
	fmt.Println(environment.Name, "is", environment.Phase)

	err = c.Get(context.Background(), client.Path("environments", "prd"), nil, &environment)
	var refusal *client.Refusal
	if errors.As(err, &refusal) {
		fmt.Printf("%d: %s; %s\n", refusal.Status, refusal, refusal.Hint())
	}

	// Output:
	// dev is good
	// 404: there is no such environment; ask for dev
}
