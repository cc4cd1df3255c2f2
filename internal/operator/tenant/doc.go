// Package tenant connects a control plane of the operator to Git and its forge.
//
// Each control plane has its own Git client, forge, credentials and caches. Nothing of the operator's environment is used: no credential,
// no Git configuration, no ssh key, and no folder of the container.
package tenant
