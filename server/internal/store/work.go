package store

// Work is a kind of work that is done for a subject.
type Work string

// The kinds of work.
const (
	Render  Work = "render"
	Deliver Work = "deliver"
)
