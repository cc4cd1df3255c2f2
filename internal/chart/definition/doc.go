// Package definition reads what an application team says about its delivery, and finds out what that means for the
// targets of an environment: which configuration folder is whose, and what is rendered with which values.
//
//	files of the source ──Read──► deliveries and services, with problems at file and line
//	targets of the Workload ┐
//	folders of values.yaml  ├─Match──► Pairs ──Targets──► targets of a chart.Job
//	Delivery                ┘
package definition
