// Package bitbuckettest is a fake of Bitbucket Cloud, with the published shapes of its API.
package bitbuckettest
