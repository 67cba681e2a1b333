package client

// ParseDateTime reads a date-time of ISO 8601.
var ParseDateTime = parseDateTime

// Events counts the subjects that are remembered.
func (c *Client) Events() int { return len(c.events.ends) }
