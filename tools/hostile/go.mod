module github.com/kalypso-io/kalypso/tools/hostile

go 1.26.0
