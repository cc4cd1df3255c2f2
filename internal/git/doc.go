// Package git reads trees and writes commits of Git repositories, without a work tree.
//
//	Client ── Open(url) ──► Repository ── Resolve(branch, commit) ──► Commit
//	                            │                                        │
//	                            ├── Tree(commit) ──► Tree: Files, Read ◄─┘      Folder(dir) is a Tree, too
//	                            ├── Commit(request) writes blobs, trees and a commit nobody sees yet
//	                            └── Push(branch, old, new) moves a branch, if it is where the caller believes it is
//
// # Where repositories are
//
// A URL is a path, file://, https://, http://, ssh:// or host:path. Before it is opened it is mapped: by [Client.Map],
// and where that says nothing by the insteadOf rules of git's own configuration.
//
// Local repositories are opened in place; work trees, linked work trees, bare and shared repositories are understood.
// A plain folder opens as well: each of its subfolders is a branch, without commits, and read only.
//
// Of remote repositories the cache folder keeps bare clones, one per URL, into which single branches are fetched with
// their history. Every [Repository.Resolve] asks the remote: when it cannot be reached that is an error, never old data.
// A cache that is damaged is thrown away and fetched anew. Processes that share a cache wait for each other.
//
// Commits may be signed, with SSH or OpenPGP keys: see [Signer].
//
// # Credentials
//
// A credential is sent only to the host it is meant for, over https or to this machine, never after a redirect to
// another host. The first of these that knows the host is used:
//
//	the URL itself              https://user:token@host/...
//	Client.Credentials          asked anew for every conversation, for tokens that do not live long
//	KALYPSO_GIT_TOKEN           or KALYPSO_GIT_USERNAME and KALYPSO_GIT_PASSWORD, for the hosts that KALYPSO_GIT_HOST names
//	                            (separated by commas, with the port where it is not the usual one); without it, for none
//	GITHUB_TOKEN, GH_TOKEN      for the host of GITHUB_SERVER_URL, github.com by default
//	GITLAB_TOKEN, CI_JOB_TOKEN  for the host of CI_SERVER_URL; GITLAB_TOKEN also for gitlab.com when that is not set
//	AZURE_DEVOPS_TOKEN          or SYSTEM_ACCESSTOKEN, for the host of SYSTEM_COLLECTIONURI, dev.azure.com by default
//	NETRC, ~/.netrc             "machine" entries only: "default" would send a password to any host
//	git credential fill         https only, when the git program is there and the server asked for a password; never prompts
//
// ssh uses the agent and the keys of ~/.ssh, and accepts only hosts that known_hosts lists.
// Passwords and tokens are of the type [Secret], which does not print, and no error text contains one.
package git
