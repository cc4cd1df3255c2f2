package sandbox

// Started returns how many processes were started.
func (p *Pool) Started() int { return p.started }
