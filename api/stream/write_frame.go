package stream

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// framing is how the items of a response are separated.
type framing struct {
	format   Format
	boundary string // of Mixed
}

const recordSeparator = 0x1e

// append appends an item in JSON.
func (f *framing) append(text, item []byte) []byte {
	switch f.format {
	case Sequence:
		return append(append(append(text, recordSeparator), item...), '\n')
	case Mixed:
		return f.appendPart(text, "application/json", item)
	case Events:
		return appendData(text, item)
	default:
		return append(append(text, item...), '\n')
	}
}

// appendPart appends a part. Its length tells the client that it is complete before the next one begins.
func (f *framing) appendPart(text []byte, contentType string, content []byte) []byte {
	text = append(append(text, "--"...), f.boundary...)
	text = append(append(text, "\r\nContent-Type: "...), contentType...)
	text = strconv.AppendInt(append(text, "\r\nContent-Length: "...), int64(len(content)), 10)
	return append(append(append(text, "\r\n\r\n"...), content...), "\r\n"...)
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
	lf := bytes.IndexByte(text, '\n')
	if lf >= 0 {
		text = text[:lf]
	}
	if cr := bytes.IndexByte(text, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// heartbeat returns what readers ignore between two items.
func (f *framing) heartbeat() []byte {
	switch f.format {
	case Events:
		return []byte(":\n\n")
	case Lines:
		return []byte("\n")
	case Sequence:
		return []byte{recordSeparator}
	default:
		return nil
	}
}

// closing appends the end of a body.
func (f *framing) closing(text []byte) []byte {
	if f.format == Mixed {
		text = append(append(append(text, "--"...), f.boundary...), "--\r\n"...)
	}
	return text
}

// problem returns the end of a body that failed.
func (f *framing) problem(problem []byte) []byte {
	var line bytes.Buffer
	if !bytes.HasPrefix(problem, []byte("{")) || json.Compact(&line, problem) != nil { // it is a text
		title, _ := json.Marshal(string(problem)) // strings always marshal
		line.Reset()
		line.WriteString(`{"status":500,"title":` + string(title) + `}`)
	}
	switch f.format {
	case Events:
		return appendData([]byte("event: error\n"), line.Bytes())
	case Mixed:
		return f.closing(f.appendPart(nil, "application/problem+json", line.Bytes()))
	default:
		return f.append(nil, []byte(`{"error":`+line.String()+`}`))
	}
}
