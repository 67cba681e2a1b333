package console

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// failures has the words for the failures of delivery attempts, which package sender defines.
//
//nolint:gochecknoglobals // a table
var failures = map[string]string{
	"invalid":  "Nothing was sent, because there is no secret to sign with.",
	"blocked":  "Nothing was sent, because the address is not public.",
	"dns":      "The host was not found.",
	"connect":  "No connection could be opened.",
	"tls":      "The host has no valid TLS certificate.",
	"timeout":  "There was no response in time.",
	"reset":    "The connection ended without a response.",
	"protocol": "The response was not HTTP.",
	"canceled": "The attempt was interrupted when the service stopped.",
}

// resultText describes the result of a delivery attempt.
func resultText(status int, failure string) string {
	code := fmt.Sprint(status)
	if text := http.StatusText(status); text != "" {
		code += " " + text
	}
	switch words := failures[failure]; {
	case words != "":
		return words
	case failure == "":
		return "Accepted with " + code + "."
	case status != 0:
		return "Responded with " + code + "."
	}
	return "The attempt failed."
}

// lastResult describes the result of the latest attempt. It is "" if there is none.
func lastResult(last studio.Attempt) string {
	if last.Number == 0 {
		return ""
	}
	return resultText(last.Status, last.Failure)
}

// reasons has the words for the reasons why events are exhausted.
//
//nolint:gochecknoglobals // a table
var reasons = map[studio.Reason]string{
	studio.ReasonSchedule: "All attempts failed.",
	studio.ReasonRefused:  "The endpoint refused it repeatedly.",
	studio.ReasonGone:     "The endpoint responded with 410, so it is disabled.",
	studio.ReasonDisabled: "The endpoint is disabled.",
	studio.ReasonDeleted:  "What it is about was deleted.",
}

// stages has the words for the stages of a rendering, which package protocol defines.
//
//nolint:gochecknoglobals // a table
var stages = map[string]string{
	"fetching":  "Fetching the files",
	"analysing": "Looking for the face",
	"speaking":  "Speaking the text",
	"drawing":   "Drawing the pictures",
	"finishing": "Finishing the files",
}

// activity describes what a rendering does, and the time left. It is "" if neither is known.
func activity(progress studio.Progress) string {
	words := stages[progress.Stage]
	if progress.Left > 0 {
		words = strings.TrimPrefix(words+", about "+duration(progress.Left)+" left", ", ")
	}
	return words
}

// wait describes the time until at.
func wait(at time.Time) string {
	if d := time.Until(at); d > 0 {
		return "in " + duration(d)
	}
	return "now"
}

// duration returns a positive duration in one unit.
func duration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds())+1)
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()+0.5))
	default:
		return fmt.Sprintf("%d h", int(d.Hours()+0.5))
	}
}
