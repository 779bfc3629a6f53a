package sandbox

func (s *Settings) caches(m *plan, p *Policy) {}
