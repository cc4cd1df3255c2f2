package forgetest

// Push sets a branch to a commit of a real repository behind the fake. An empty commit deletes the branch.
// The caller must not hold the world's lock. Hooks are notified.
func (w *World) Push(path, branch, commit, actor string) {
	w.Do(func() {
		r := w.Repo(path)
		if commit == r.Branches[branch] {
			return
		}
		if commit != "" {
			r.parents[commit] = []string{r.Branches[branch]}
		}
		r.Move(branch, commit, actor)
	})
}
