// Package protocol is what the daemon and a renderer's program say to each other, version 1.
//
// The daemon starts the program, writes one [Request] as a JSON object to its standard input
// and closes it. The program writes JSON objects, one a line, to its standard output: any
// number of {"progress":0.4}, and then, as its last line, either {"result":{…}} or
// {"error":{…}}. It exits with status 0 after both. Whatever else it does (another status,
// no last line, a line that the protocol does not know) is a failure that is tried again.
//
// The program reads the files that the request names, and writes its own into the output
// directory, which is empty at the start and gone afterwards. It must expect to be killed at
// any time. Standard error is for people: the daemon logs some of it.
//
// The file protocol.schema.json holds the schema of both directions, and the folder examples
// a program that speaks the protocol in twenty lines of shell.
package protocol

import "github.com/go-json-experiment/json/jsontext"

// Version is the version of the protocol.
const Version = 1

// Kind tells what is rendered.
type Kind string

// The kinds of renderings.
const (
	// Avatar prepares a face from base_video_url, or from nothing: it is checked, and what
	// its videos need is left as files.
	Avatar Kind = "avatar"
	// Video makes an avatar say text or audio_url.
	Video Kind = "video"
	// Lipsync makes the face in video_url say audio_url.
	Lipsync Kind = "lipsync"
)

// Request asks for one rendering.
type Request struct {
	Version int    `json:"version"`
	Kind    Kind   `json:"kind"`
	ID      string `json:"id"`
	// Attempt counts from 1. It is larger when a rendering before did not end.
	Attempt int `json:"attempt"`
	// Request is everything that the client sent: a JSON object.
	Request jsontext.Value `json:"request"`
	// Inputs holds the local path of each file that the client named, by the member of
	// Request that named it: base_video_url, video_url, audio_url.
	Inputs map[string]string `json:"inputs"`
	// AvatarFiles holds, for a video, the local path of each file that the rendering of its
	// avatar left, by the name in [Result.Files].
	AvatarFiles map[string]string `json:"avatar_files,omitempty"`
	// OutputDir is the directory for results: a local path, private to this attempt.
	OutputDir string `json:"output_dir"`
}

// Message is one line of a program's output. Exactly one of its members is set.
type Message struct {
	// Progress is how much is done, from 0 to 1.
	Progress *float64 `json:"progress,omitempty"`
	Result   *Result  `json:"result,omitempty"`
	Error    *Error   `json:"error,omitempty"`
}

// Result is what a rendering made. Files are named by their plain names in the output directory.
type Result struct {
	// Video is what a video or a lip-sync must have, and an avatar may.
	Video     string `json:"video,omitempty"`
	Thumbnail string `json:"thumbnail,omitempty"`
	// Files are what the videos of an avatar need later.
	Files           []string `json:"files,omitempty"`
	DurationSeconds float64  `json:"duration_seconds,omitzero"`
	// Checks tell what was found about an avatar's input.
	Checks []Check `json:"checks,omitempty"`
}

// Error says why there is no result. It is an error.
type Error struct {
	// Reason is shown to the client: a sentence that a person understands.
	Reason string `json:"reason"`
	// Permanent failures are not tried again.
	Permanent bool `json:"permanent,omitzero"`
	// Checks tell what was found about an avatar's input, the reason of the failure included.
	Checks []Check `json:"checks,omitempty"`
}

func (e *Error) Error() string { return e.Reason }

// Check is one thing that was looked at in an avatar's input.
type Check struct {
	Name    string      `json:"name"`
	Status  CheckStatus `json:"status"`
	Message string      `json:"message"`
}

// CheckStatus is the outcome of a check.
type CheckStatus string

// The outcomes of a check.
const (
	Succeeded CheckStatus = "SUCCESS"
	Failed    CheckStatus = "FAILED"
)
