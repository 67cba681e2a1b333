package auth

// Occupy takes every turn until release is called.
func (p *Passwords) Occupy() (release func()) {
	for range cap(p.turns) {
		p.turns <- struct{}{}
	}
	return func() {
		for range cap(p.turns) {
			<-p.turns
		}
	}
}
