// Package shipped lints what a release ships with the linters that its users have: the Helm chart with Helm, workflows with actionlint, and the
// description of the API with a validator of OpenAPI. What the chart renders is decoded by the types of Kubernetes, which refuse unknown fields.
//
// It is a module of its own, so that the program does not depend on its judges.
package shipped
