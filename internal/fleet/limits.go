package fleet

// Limits of untrusted input, far above what users need.
const (
	MaxFileSize  = 5 << 20 // bytes
	MaxDocuments = 10_000  // in a file, including elements of lists
	MaxNodes     = 500_000 // YAML nodes in a file, with aliases replaced
	MaxDepth     = 100     // levels of nested maps and lists, with aliases replaced
	MaxProblems  = 1000    // reported problems of one document
	MaxExtends   = 16      // cluster types that extend each other in a row
)

// Budget bounds what is read of one source together.
type Budget struct {
	// Bytes is the size of its files, Documents the number of their documents, including elements of lists.
	Bytes, Documents int
}

// The budgets of a control plane and of the repository of an application, which the team of the application writes alone.
var (
	ControlPlaneBudget = Budget{Bytes: 128 << 20, Documents: 200_000}
	ApplicationBudget  = Budget{Bytes: 64 << 20, Documents: 100_000}
)

// The lengths that Kubernetes allows.
const (
	MaxLabel     = 63  // a DNS label, a label value
	MaxSubdomain = 253 // a DNS subdomain
)
