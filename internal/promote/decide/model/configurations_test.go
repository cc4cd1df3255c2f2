package model

// configurations are those of each test run: together, they have all kinds of events.
var configurations = []configuration{
	{
		name: "checks", states: 7_000, records: true, commits: 3, faults: 1,
		places: []placeConfig{
			{name: "dev", after: -1, clusters: 1, smoke: true, release: true},
			{name: "stage", clusters: 1, soak: 1},
		},
		events: []kind{failsThere, failsSmoke, loses},
	},
	{
		name: "silence", states: 11_000, commits: 3, faults: 1,
		places: []placeConfig{
			{name: "dev", after: -1, clusters: 2},
			{name: "stage", clusters: 1, soak: 2},
		},
		events: []kind{cuts, drifts, breaks},
	},
	{
		name: "commands", states: 20_000, commits: 3, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1, clusters: 1, smoke: true, users: true},
			{name: "stage", clusters: 1, soak: 1, users: true},
		},
		events: []kind{rollsBack, requests, aborts, pauses},
	},
	{
		name: "two rings", states: 7_000, commits: 2, faults: 1, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1, users: true},
			{name: "canary", ring: true, clusters: 1, soak: 1, users: true, back: true},
			{name: "others", ring: true, clusters: 1, users: true, back: true},
		},
		events: []kind{failsThere, rollsBack},
	},
	{
		name: "a rollback overtakes a ring", states: 3_000, commits: 3, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1, users: true},
			{name: "canary", ring: true, clusters: 1},
			{name: "others", ring: true, clusters: 1},
		},
		events: []kind{rollsBack},
	},
	{
		name: "rings and an environment", states: 3_000, records: true, commits: 3, faults: 1,
		places: []placeConfig{
			{name: "dev", after: -1, smoke: true},
			{name: "canary", ring: true, clusters: 1},
			{name: "others", ring: true, clusters: 1},
			{name: "stage", clusters: 1, soak: 1},
		},
		events: []kind{failsSmoke},
	},
	{
		name: "a ring is rolled back", states: 800, records: true, commits: 2, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1},
			{name: "canary", ring: true, clusters: 1, users: true},
			{name: "others", ring: true, clusters: 1, users: true},
			{name: "stage", clusters: 1, soak: 2},
		},
		events: []kind{rollsBack},
	},
	{
		name: "by hand", states: 7_000, records: true, commits: 3, faults: 1, commands: 1,
		places: []placeConfig{
			{name: "dev", after: -1, clusters: 1, users: true, back: true, delivers: true},
			{name: "stage", clusters: 1, byHand: true, users: true, back: true},
		},
		events: []kind{failsThere, closes, rollsBack, requests, pauses, aborts},
	},
}
