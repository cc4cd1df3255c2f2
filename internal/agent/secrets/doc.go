// Package secrets makes Secrets in a cluster by a recipe, in a Job that came through Git with the right to write these Secrets only.
//
// The values exist in the cluster alone: they are in no manifest, log or error.
package secrets
