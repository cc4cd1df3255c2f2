package simulate

// generations is a cache that keeps what was used recently. The zero value is ready to use.
type generations[K comparable, V any] struct {
	young, old map[K]V
	weight     int // of what was put since the last generation
}

// maxWeight is the weight of one generation: tens of megabytes for objects of usual size.
const maxWeight = 20_000

// get returns a cached value, or the zero value if it is not cached.
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

// put caches a value at least until values of maxWeight in total were put or used.
func (g *generations[K, V]) put(k K, v V, weight int) {
	if g.weight += weight; g.weight > maxWeight || g.young == nil {
		g.young, g.old, g.weight = map[K]V{}, g.young, weight
	}
	g.young[k] = v
}
