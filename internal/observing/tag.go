package observing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Tag is a short text that is the same for two answers with the same JSON, for ETags. It is empty for what is no JSON.
func Tag(answer any) string {
	text, err := json.Marshal(answer)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}
