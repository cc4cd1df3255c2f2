// Command go is a scheduler that spreads targets evenly over the cluster types: each target goes to the candidates with the
// fewest targets so far. What a target has already counts first, so that nothing moves without a reason.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err) // Kalypso shows the last line
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var request schedulingv1.Request
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	return json.NewEncoder(out).Encode(schedule(&request))
}

func schedule(r *schedulingv1.Request) *schedulingv1.Response {
	response := &schedulingv1.Response{Version: schedulingv1.Version, Digest: r.Digest, Decisions: []schedulingv1.Decision{}}
	if r.Version != schedulingv1.Version || r.Task != schedulingv1.Schedule {
		response.Error = fmt.Sprintf("this scheduler cannot do the task %q of version %d", r.Task, r.Version)
		return response
	}
	targets := map[string]int{} // on each cluster type
	for _, t := range r.Targets {
		slices.SortFunc(t.Candidates, func(a, b string) int {
			stays := func(name string) int { return -min(1, slices.Index(t.Previous, name)+1) }
			return cmp.Or(cmp.Compare(stays(a), stays(b)), cmp.Compare(targets[a], targets[b]), cmp.Compare(a, b))
		})
		for _, name := range t.Candidates[:min(max(1, int(r.Policy.MaxClusterTypes)), len(t.Candidates))] {
			response.Decisions = append(response.Decisions, schedulingv1.Decision{
				Target: t.Name, ClusterType: name, Reason: fmt.Sprintf("it has %d other targets", targets[name]),
			})
			targets[name]++
		}
	}
	return response
}
