package client

// ParseDateTime parses a date-time of ISO 8601.
var ParseDateTime = parseDateTime

// Events returns the number of recorded subjects.
func (c *Client) Events() int { return len(c.events.ends) }
