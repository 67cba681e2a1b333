package stream

import (
	"bytes"
	"encoding/json"
)

// Append appends an item to a body, as a proxy or a test makes it of a response. Fields that the format does not have
// are ignored.
func (f Format) Append(text []byte, item Frame) ([]byte, error) {
	if f == Events {
		return appendEvent(text, item)
	}
	return append(append(text, item.Data...), '\n'), nil
}

// appendData appends the data of an event, which may have several lines, and the end of the event.
func appendData(text, data []byte) []byte {
	for {
		end := lineEnd(data)
		if end < 0 {
			return append(append(append(text, "data: "...), data...), "\n\n"...)
		}
		text = append(append(append(text, "data: "...), data[:end]...), '\n')
		if bytes.HasPrefix(data[end:], []byte("\r\n")) {
			end++
		}
		data = data[end+1:]
	}
}

// lineEnd returns the index of the first CR or LF, or -1. It is several times faster than [bytes.IndexAny].
func lineEnd(text []byte) int {
	for most := 256; ; most *= 16 { // a line that CR ends is not searched for an LF far behind it
		part := text[:min(most, len(text))]
		end := bytes.IndexByte(part, '\n')
		if end >= 0 {
			part = part[:end]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			return cr
		}
		if end >= 0 || len(part) == len(text) {
			return end
		}
	}
}

// heartbeat returns what readers ignore between two items.
func (f Format) heartbeat() []byte {
	if f == Events {
		return []byte(":\n\n")
	}
	return []byte("\n")
}

// problem returns the end of a body that failed.
func (f Format) problem(problem []byte) []byte {
	var line bytes.Buffer
	if !bytes.HasPrefix(problem, []byte("{")) || json.Compact(&line, problem) != nil { // it is a text
		title, _ := json.Marshal(string(problem)) // strings always marshal
		line.Reset()
		line.WriteString(`{"status":500,"title":` + string(title) + `}`)
	}
	if f == Events {
		return appendData([]byte("event: error\n"), line.Bytes())
	}
	return []byte(`{"error":` + line.String() + "}\n")
}
