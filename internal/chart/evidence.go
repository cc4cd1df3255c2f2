package chart

// Evidence is what a registry has beside an image: signatures and statements. Nothing of it is verified.
type Evidence struct {
	Signatures []Signature
	// Envelopes are DSSE envelopes, and Bundles are Sigstore bundles, both as JSON.
	Envelopes, Bundles [][]byte
}

// Signature is a signature of cosign: of a payload that names the digest of the image.
type Signature struct{ Payload, Signature []byte }
