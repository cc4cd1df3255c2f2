package fleet

// The bounds of what is read. They are far above what people write and
// far below what would keep a machine busy: input is hostile until the contrary is shown.
const (
	// MaxFileSize is the largest file that is read, in bytes.
	MaxFileSize = 5 << 20
	// MaxDocuments is the largest number of documents in a file, elements of lists included.
	MaxDocuments = 10_000
	// MaxNodes is the largest number of YAML nodes in a file once every alias is replaced by what it stands for.
	MaxNodes = 500_000
	// MaxDepth is how deep maps and lists may nest, aliases replaced.
	MaxDepth = 100
	// MaxProblems is how many problems of one document are reported. Whoever has more has one reason for most of them.
	MaxProblems = 1000
	// MaxExtends is how many cluster types may extend each other in a row.
	MaxExtends = 16
)

// The lengths that Kubernetes allows.
const (
	// MaxLabel is the longest DNS label, which is also the longest label value.
	MaxLabel = 63
	// MaxSubdomain is the longest DNS subdomain.
	MaxSubdomain = 253
)
