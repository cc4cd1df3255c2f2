// Package git reads trees and writes commits of Git repositories, without a work tree.
//
//	Client ── Open(url) ──► Repository ── Resolve(branch, commit) ──► Commit
//	                            │                                        │
//	                            ├── Tree(commit) ──► Tree: Files, Read ◄─┘      Folder(dir) is a Tree, too
//	                            ├── Commit(request) writes blobs, trees and a commit, not on a branch yet
//	                            └── Push(branch, old, new) moves a branch, if it is where the caller expects it
//
// # Locations of repositories
//
// A URL is a path, file://, https://, http://, ssh:// or host:path. Before it is opened it is mapped: by [Client.Map],
// and if that has no entry, by the insteadOf rules of git's own configuration.
//
// Local repositories are opened in place: work trees, linked work trees, bare and shared repositories.
// A plain folder can be opened, too: each of its subfolders is a branch, without commits, and read-only.
//
// The cache folder keeps bare clones of remote repositories, one per URL. Single branches are fetched into them, with
// their history. Every [Repository.Resolve] contacts the remote; if that fails, the result is an error, never old data.
// A damaged cache is deleted and fetched again. Processes that share a cache wait for each other.
//
// Commits can be signed with SSH or OpenPGP keys: see [Signer].
//
// # Objects
//
// Objects are read from packs and from files of single objects, and each is checked against its hash. A commit with many changes writes a pack,
// in which similar manifests are deltas of each other, together with its index. Packs and indexes appear whole, so a process that is
// killed leaves nothing that is read. Sizes, chains of deltas, and the number and depth of folders are bounded, because repositories can be hostile:
// those of a pack while it is received.
//
// # Credentials
//
// A credential is only sent to its own host, over https or to this machine, and never after a redirect to
// another host. The first of these that has an entry for the host is used:
//
//	the URL itself              https://user:token@host/...
//	Client.Credentials          called for every connection, for short-lived tokens
//	KALYPSO_GIT_TOKEN           or KALYPSO_GIT_USERNAME and KALYPSO_GIT_PASSWORD, for the hosts in KALYPSO_GIT_HOST
//	                            (separated by commas, with the port unless it is the default); without it, for none
//	GITHUB_TOKEN, GH_TOKEN      for the host of GITHUB_SERVER_URL, github.com by default
//	GITLAB_TOKEN, CI_JOB_TOKEN  for the host of CI_SERVER_URL; GITLAB_TOKEN also for gitlab.com if that is not set
//	AZURE_DEVOPS_TOKEN          or SYSTEM_ACCESSTOKEN, for the host of SYSTEM_COLLECTIONURI, dev.azure.com by default
//	BITBUCKET_TOKEN             of the account BITBUCKET_USERNAME, for the host of BITBUCKET_SERVER_URL, bitbucket.org by default
//	NETRC, ~/.netrc             "machine" entries only: "default" would send a password to any host
//	git credential fill         https only, if git is installed and the server requires a password; never prompts
//
// ssh uses the agent and the keys in ~/.ssh, and only accepts hosts listed in known_hosts.
// Passwords and tokens have the type [Secret], which does not print, and no error text contains one.
package git
