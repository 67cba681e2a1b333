package store

// Work is a kind of work on a subject.
type Work string

// The kinds of work: a rendering, and the delivery of an event.
const (
	Render  Work = "render"
	Deliver Work = "deliver"
)
