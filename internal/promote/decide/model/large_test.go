package model

// large are the configurations of make check-model.
var large = []configuration{
	{
		name: "checks with more soak", states: 70_000, commits: 3, faults: 2,
		places: []placeConfig{
			{name: "dev", after: -1, clusters: 1, smoke: true, release: true},
			{name: "stage", clusters: 1, soak: 2},
		},
		events: []kind{failsThere, failsSmoke, loses},
	},
	{
		name: "silence of several clusters", states: 1_000_000, commits: 3, faults: 2,
		places: []placeConfig{
			{name: "dev", after: -1, clusters: 2},
			{name: "stage", clusters: 1, soak: 2},
		},
		events: []kind{cuts, drifts, breaks, failsThere},
	},
	{
		name: "commands and faults", states: 20_000, commits: 2, faults: 1, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1, clusters: 1, smoke: true, users: true},
			{name: "stage", clusters: 1, soak: 1, users: true},
		},
		events: []kind{failsThere, failsSmoke, cuts, rollsBack, requests, aborts, pauses},
	},
	{
		name: "two commands", states: 100_000, commits: 3, commands: 2,
		places: []placeConfig{
			{name: "dev", after: -1, clusters: 1, users: true},
			{name: "stage", clusters: 1, soak: 1, users: true},
		},
		events: []kind{rollsBack, requests, aborts, pauses},
	},
	{
		name: "rings with three commits", states: 700_000, commits: 3, faults: 1, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1, users: true},
			{name: "canary", ring: true, clusters: 1, soak: 1, back: true},
			{name: "others", ring: true, clusters: 1, back: true},
		},
		events: []kind{failsThere, rollsBack},
	},
	{
		name: "rings, commands", states: 200_000, commits: 2, faults: 1, commands: 2,
		places: []placeConfig{
			{name: "dev", after: -1, users: true},
			{name: "canary", ring: true, clusters: 1, soak: 1, users: true, back: true},
			{name: "others", ring: true, clusters: 1, users: true, back: true},
		},
		events: []kind{failsThere, rollsBack, skips},
	},
	{
		name: "rings, aborts", states: 80_000, commits: 2, faults: 1, commands: 2,
		places: []placeConfig{
			{name: "dev", after: -1, users: true},
			{name: "canary", ring: true, clusters: 1, soak: 1, users: true, back: true},
			{name: "others", ring: true, clusters: 1, back: true},
		},
		events: []kind{failsThere, rollsBack, aborts},
	},
	{
		name: "rings, silence and an environment", states: 40_000, commits: 2, faults: 1, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1, smoke: true},
			{name: "canary", ring: true, clusters: 1, users: true, back: true},
			{name: "others", ring: true, clusters: 1, back: true},
			{name: "stage", clusters: 1, soak: 1},
		},
		events: []kind{failsThere, failsSmoke, cuts, drifts, rollsBack},
	},
	{
		name: "rings, rollbacks and an environment", states: 600_000, records: true, commits: 3, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1, users: true},
			{name: "canary", ring: true, clusters: 1, users: true},
			{name: "others", ring: true, clusters: 1},
			{name: "stage", clusters: 1, soak: 1, users: true},
		},
		events: []kind{rollsBack},
	},
}
