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

func ExampleAsk() {
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
	type path struct {
		Name string `path:"name"`
	}
	type state struct{ Name, Phase string }
	environment, err := client.Ask[state](context.Background(), c, "environments/{name}", path{"dev"})
	if err != nil {
		panic(err)
	}
	fmt.Println(environment.Name, "is", environment.Phase)

	_, err = client.Ask[state](context.Background(), c, "environments/{name}", path{"prd"})
	var refusal *client.Refusal
	if errors.As(err, &refusal) {
		fmt.Printf("%d: %s; %s\n", refusal.Status, refusal, refusal.Hint())
	}

	// Output:
	// dev is good
	// 404: there is no such environment; ask for dev
}
