// Package giteatest provides two Giteas for the rules of package forgetest: a fake, and a real one that runs elsewhere.
package giteatest
