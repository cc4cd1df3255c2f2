// Package giteatest has two Giteas to try the rules of package forgetest on: a fake, for every day,
// and a real one that runs somewhere.
package giteatest
