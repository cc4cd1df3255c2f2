// Package bitbucketservertest is a fake of Bitbucket Data Center, with the published shapes of its API.
package bitbucketservertest
