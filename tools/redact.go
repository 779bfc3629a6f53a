package tools

// redact takes secrets out of a result, in one place for every way to one.
func (b *Toolbox) redact(res *Result) {
	b.clean(&res.Text, &res.Stdout, &res.Stderr, &res.Content, &res.Reason, &res.Instead, &res.Path)
	if res.Sandbox != nil {
		b.cleanAll(res.Sandbox.Refused, res.Sandbox.Restored)
	}
}

func (b *Toolbox) clean(texts ...*string) {
	if b.Redact == nil {
		return
	}
	for _, s := range texts {
		*s = b.Redact(*s)
	}
}

func (b *Toolbox) cleanAll(lists ...[]string) {
	for _, list := range lists {
		for i := range list {
			b.clean(&list[i])
		}
	}
}
