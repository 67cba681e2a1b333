package client

// SetMaxAnswer lowers the limit on the body of an answer.
func (c *Client) SetMaxAnswer(limit int64) { c.doer.maxAnswer = limit }

// Events counts the subjects that are remembered.
func (c *Client) Events() int { return len(c.events.ends) }
