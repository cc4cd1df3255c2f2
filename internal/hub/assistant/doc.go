// Package assistant offers the queries about a fleet as tools of the Model Context Protocol (https://modelcontextprotocol.io), so that an
// assistant can find out what runs where, and why something waits or fails.
//
//	assistant ─► tools ─┬─► Questions: a ledger or a server        environments, clusters, discrepancies, history, figures
//	                    ├─► ControlPlane: the documents in Git     plan, explain, and the documents as resources
//	                    └─► Pausing                                the only action
//
// # Answers
//
// An answer is the JSON of the API in at most [MaxAnswer] bytes. If it would be larger, its lists and texts are shortened, and the field "shortened"
// says so. Plans and explanations name the commits that they were made from, and files with lines.
//
// Documents, messages of clusters and reasons that users typed can contain text that is meant to mislead an assistant. Each answer, error and
// document begins with a notice that it is data.
//
// # Actions
//
// Pausing the promotions into an environment, of the platform or of an application, is the only action, because it changes nothing on any
// cluster. It needs the role of an operator, and a confirmation: by the user, if the client can ask, and otherwise with a code that the answer
// to the first call has. See [Pausing].
package assistant
