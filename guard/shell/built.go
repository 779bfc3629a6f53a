package shell

import "slices"

// built marks what a compiler writes: it is made from code of the workspace
// that was there before, or that this call wrote in plain sight, so running it
// runs that code and nothing else. A path that this call had written before
// stays what it was: the compiler may fail and leave it.
func (k *work) built() {
	if len(k.fresh) == 0 || !k.b.Spec.Builds || k.b.Has("-E") || k.st.in != nil && k.st.in.class != exact {
		return
	}
	for p, f := range k.files {
		if f.class != exact && !f.built && !slices.Contains(k.fresh, p) {
			return // it could be what is compiled
		}
	}
	for _, i := range k.reads {
		if e := k.facts.Effects[i]; !k.inRoots(e.Target) {
			return
		}
	}
	for _, i := range k.reads {
		if f, ok := k.files[k.facts.Effects[i].Target]; ok && f.class == exact {
			k.calling(k.call, "c", f.s, k.st)
		}
	}
	for _, p := range k.fresh {
		f := k.files[p]
		f.built = true
		k.files[p] = f
	}
}
