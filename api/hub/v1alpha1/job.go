package v1alpha1

import (
	"errors"
	"fmt"
	"time"
)

// Limits of the Jobs of a cluster.
const (
	// MaxJobs is how many Jobs a server requests of a cluster at once, and how many results a batch has.
	MaxJobs = 32
	// MaxJobTime is the longest time that a server can let a Job run.
	MaxJobTime = time.Hour
)

// JobRequest requests that the agent runs a template of the cluster once, as a Job. It names a template that came through Git, and
// nothing else: a server cannot choose what runs.
//
// A server repeats a request in the answer to each batch until it has the result. An agent therefore runs each ID once.
//
// +kubebuilder:object:generate=false
type JobRequest struct {
	// ID identifies one run on all clusters: 32 hexadecimal digits.
	ID string `json:"id"`
	// Template is the value of the label [JobTemplateLabel] of the CronJobs to run.
	Template string `json:"template"`
	// Environment, Workspace and Workload are the values of the labels "environment", "workspace" and "workload" of the namespaces in
	// which the CronJobs are. Workspace and Workload are empty for those of all applications.
	Environment string `json:"environment"`
	Workspace   string `json:"workspace,omitempty"`
	Workload    string `json:"workload,omitempty"`
	// Revision is the commit of the GitOps branch that is verified.
	Revision string `json:"revision"`
	// Seconds is how long each Job may run, at most [MaxJobTime].
	Seconds int64 `json:"seconds"`
}

// JobTemplateLabel is the label of the CronJobs that agents run for verifications.
const JobTemplateLabel = "kalypso.io/job-template"

// JobState is the state of a requested run in a cluster.
type JobState string

const (
	// JobRunning means that a Job runs, or is about to.
	JobRunning JobState = "running"
	// JobSucceeded means that all Jobs of the request succeeded. It is final.
	JobSucceeded JobState = "succeeded"
	// JobFailed means that one failed. It is final.
	JobFailed JobState = "failed"
	// JobImpossible means that nothing could be run, for a reason that a user can remove.
	JobImpossible JobState = "impossible"
)

// JobResult is how far a requested run is in a cluster.
//
// +kubebuilder:object:generate=false
type JobResult struct {
	// ID is that of the request.
	ID    string   `json:"id"`
	State JobState `json:"state"`
	// Message explains a failure, on one line of at most [MaxMessage] bytes.
	Message string `json:"message,omitempty"`
}

// Check returns everything that is wrong with a result; nil if it is valid.
func (r *JobResult) Check() error {
	var state error
	switch r.State {
	case JobRunning, JobSucceeded, JobFailed, JobImpossible:
	default:
		state = fmt.Errorf("state is %.100q, want running, succeeded, failed or impossible", r.State)
	}
	return errors.Join(required("id", r.ID), bounded("id", r.ID, MaxName), bounded("message", r.Message, MaxMessage), state)
}

// checkJobs returns everything that is wrong with the results of a batch.
func checkJobs(results []JobResult) error {
	if len(results) > MaxJobs {
		return fmt.Errorf("%d results of jobs, want at most %d", len(results), MaxJobs)
	}
	var problems []error
	for i := range results {
		if err := results[i].Check(); err != nil {
			problems = append(problems, fmt.Errorf("jobs[%d]: %w", i, err))
		}
	}
	return errors.Join(problems...)
}
