module github.com/kalypso-io/kalypso/tools/corpus

go 1.26.0
