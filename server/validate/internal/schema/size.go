package schema

import (
	"math"
	"strconv"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// Size limits a length or count: minLength and maxLength, for example. The nil Size has no limits.
type Size struct {
	of, unit    string // such as Length and characters
	least, most uint64
}

// sizeOf returns the limits that a schema has for a length or count.
func sizeOf(source *document.Node, of, unit string) *Size {
	least, _ := document.CountOf(source.Get("min" + of))
	most, limited := document.CountOf(source.Get("max" + of))
	if !limited {
		most = math.MaxUint64
	}
	if least == 0 && !limited {
		return nil
	}
	return &Size{of, unit, least, most}
}

// Violation returns the violation of n, or "" if there is none. If n may still grow, only the most counts.
func (s *Size) Violation(n int, grows bool) (keyword, detail string) {
	switch {
	case s == nil:
	case uint64(n) > s.most:
		return "max" + s.of, "must have " + strconv.FormatUint(s.most, 10) + " or fewer " + s.unit
	case uint64(n) < s.least && !grows:
		return "min" + s.of, "must have " + strconv.FormatUint(s.least, 10) + " or more " + s.unit
	}
	return "", ""
}

func (w *Walker) checkSize(s *Size, n int) {
	if keyword, detail := s.Violation(n, false); keyword != "" {
		w.Add(keyword, detail)
	}
}
