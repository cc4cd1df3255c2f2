package observing

import (
	"time"
)

// Figures are the four figures of software delivery over a time.
type Figures struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Total is for everything that was asked for.
	Total Performance `json:"total"`
	// Items are by workspace, or by workspace and workload.
	Items []Figure `json:"items"`
}

// Figure is how well a workload, or a team, delivers.
type Figure struct {
	Workspace string `json:"workspace"`
	// Workload is empty when it is a team's.
	Workload string `json:"workload,omitempty"`
	Performance
}

// Performance are the four figures.
type Performance struct {
	// Deployments are the versions that came to an environment, and PerDay how many that are in a day.
	Deployments int     `json:"deployments"`
	PerDay      float64 `json:"perDay"`
	// LeadTimeSeconds is the median time from the build to the first cluster; 0 when no build time is known.
	LeadTimeSeconds float64 `json:"leadTimeSeconds"`
	// ChangeFailureRate is the part of deployments that failed on a cluster, from 0 to 1.
	ChangeFailureRate float64 `json:"changeFailureRate"`
	// TimeToRestoreSeconds is the median length of incidents that are over; 0 when there are none.
	TimeToRestoreSeconds float64 `json:"timeToRestoreSeconds"`
	OpenIncidents        int     `json:"openIncidents"`
}

// FiguresQuery says which figures are wanted. Other empty fields do not restrict.
type FiguresQuery struct {
	Environment string
	Workload    string
	Workspace   string
	// ByTeam sums up the workloads of a workspace.
	ByTeam bool
	// From is inclusive and To exclusive; zero is 30 days before To, and now.
	From, To time.Time
}
