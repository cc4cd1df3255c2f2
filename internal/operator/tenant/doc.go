// Package tenant connects a control plane of the operator to Git, its forge and its ledger.
//
// Each control plane has its own Git client, forge, credentials and caches. Nothing of the operator's environment is used: no credential,
// no Git configuration, no ssh key, and no folder of the container.
//
// The database of a ledger may be any program that its tenant runs. So its URL is built from checked parts, and what it sends is limited.
package tenant
