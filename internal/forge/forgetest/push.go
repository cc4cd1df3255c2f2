package forgetest

// Push makes a branch point to a commit that a real repository behind the fake has got; an empty one deletes the branch.
// The world needs to be unlocked. Hooks are told.
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
