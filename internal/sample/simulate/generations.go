package simulate

// generations keeps what was used lately. The zero value is empty.
type generations[K comparable, V any] struct {
	young, old map[K]V
	weight     int // of what was put since the last generation
}

// maxWeight is that of one generation: for objects of usual size, some tens of megabytes.
const maxWeight = 20_000

// get returns what was put, or the zero value when nothing was or it is forgotten.
func (g *generations[K, V]) get(k K) V {
	if v, ok := g.young[k]; ok {
		return v
	}
	v, ok := g.old[k]
	if ok {
		g.young[k] = v
	}
	return v
}

// put keeps a value, at least until others of maxWeight were put or used.
func (g *generations[K, V]) put(k K, v V, weight int) {
	if g.weight += weight; g.weight > maxWeight || g.young == nil {
		g.young, g.old, g.weight = map[K]V{}, g.young, weight
	}
	g.young[k] = v
}
