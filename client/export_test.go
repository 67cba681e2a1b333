package client

// ParseDateTime reads a date-time of ISO 8601.
var ParseDateTime = parseDateTime

// SetMaxAnswer lowers the limit on the body of an answer.
func (c *Client) SetMaxAnswer(limit int64) { c.doer.maxAnswer = limit }

// Events counts the subjects that are remembered.
func (c *Client) Events() int { return len(c.events.ends) }
