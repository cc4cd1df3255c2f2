package comply

import (
	"path"
	"strings"
)

func cleanPath(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }
