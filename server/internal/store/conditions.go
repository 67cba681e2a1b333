package store

import (
	"encoding/json"
	"strconv"
	"strings"
)

// conditions are the conditions of a query that depend on its caller.
type conditions struct {
	sql  string // joined with AND
	args []any  // of the query
}

// add adds a condition, in which each question mark is the next of args.
func (c *conditions) add(condition string, args ...any) {
	for _, arg := range args {
		condition = strings.Replace(condition, "?", c.parameter(arg), 1)
	}
	if c.sql != "" {
		condition = c.sql + " AND " + condition
	}
	c.sql = condition
}

// where returns the WHERE of the query, if there is a condition.
func (c *conditions) where() string {
	if c.sql == "" {
		return ""
	}
	return ` WHERE ` + c.sql
}

// filter adds a condition on a text, unless the text is "".
func (c *conditions) filter(condition, text string) {
	if text != "" {
		c.add(condition, text)
	}
}

// parameter adds a parameter and returns its name in the query.
func (c *conditions) parameter(arg any) string {
	c.args = append(c.args, arg)
	return "$" + strconv.Itoa(len(c.args))
}

// elements adds texts as a parameter, and returns the query for them.
func (c *conditions) elements(sql dialect, texts []string) string {
	list, _ := json.Marshal(append([]string{}, texts...)) // never fails, and is a list if there are no texts
	return sql.elements(c.parameter(string(list)))
}
