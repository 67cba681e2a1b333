// Package protocol is the protocol between the daemon and the program of a renderer, version 1.
//
// The daemon starts the program, writes one [Request] as a JSON object to its standard input, and closes it. The
// program writes [Message] values to its standard output, as one JSON object per line: any number of
// {"progress":0.4,"stage":"drawing"}, where the stage is optional, and then, as its last line, either {"result":{…}} or
// {"error":{…}}. It exits with status 0 in both cases. Anything else, such as another status, a missing last line, or a
// line that the protocol does not define, is a transient failure: the daemon retries the rendering.
//
// The program reads the files that the request names, and writes its own files into the output directory.
// That directory is empty when the program starts, and the daemon removes it afterwards. Links cannot be results. The
// daemon may kill the program at any time. The daemon logs the beginning of its standard error.
//
// The working directory is one of its own, which the daemon removes, too, and which HOME and TMPDIR name. Of
// the environment of the daemon, which may contain passwords, the program gets only PATH, LANG, LC_ALL, TZ,
// LD_LIBRARY_PATH, CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES. When it exits, the daemon kills the processes that
// it has left. On Linux, the program runs in a sandbox without network, which the guide of the service describes.
//
// The file protocol.schema.json is the JSON Schema of requests and messages. The folder examples has a
// program that speaks the protocol in twenty lines of shell.
package protocol

import "github.com/go-json-experiment/json/jsontext"

// Version is the version of the protocol.
const Version = 1

// Kind is the kind of record that is rendered, or [Voices].
type Kind string

// The kinds of requests.
const (
	// Avatar is a request to check the face in base_video_url and to prepare it for videos. Without
	// base_video_url, the program provides a face. The program returns what the videos need in
	// [Result].Files.
	Avatar Kind = "avatar"
	// Video is a request for a video of an avatar that speaks text or audio_url.
	Video Kind = "video"
	// Lipsync is a request for a video in which the face in video_url speaks audio_url.
	Lipsync Kind = "lipsync"
	// Voices is a request for the voices that speak text, which the program returns in [Result].Voices, the preferred
	// ones of each language first. It has no inputs. A program that does not know this kind may fail: then it has no
	// voices.
	Voices Kind = "voices"
)

// Request is a request for one rendering. All paths in it are absolute.
type Request struct {
	// Version must equal the constant [Version].
	Version int  `json:"version"`
	Kind    Kind `json:"kind"`
	// Voice is the ID of the voice that speaks the text of a video: one of [Result].Voices, or what the client has sent
	// if the program lists no voices. If empty, the program chooses.
	Voice string `json:"voice,omitempty"`
	// ID is the id of the avatar, video or lip-sync.
	ID string `json:"id"`
	// Attempt is the number of this attempt, from 1.
	Attempt int `json:"attempt"`
	// Request is the complete body of the client's request, a JSON object.
	Request jsontext.Value `json:"request"`
	// Inputs maps the members of Request that name files (base_video_url, video_url, audio_url) to the
	// local paths of the fetched files.
	Inputs map[string]string `json:"inputs"`
	// AvatarFiles maps the names in [Result].Files of the avatar to local paths. It is set for videos only.
	AvatarFiles map[string]string `json:"avatar_files,omitempty"`
	// OutputDir is the directory for the program's files. No other attempt uses it.
	OutputDir string `json:"output_dir"`
}

// Message is one line of a program's output, at most 64 KiB long. Exactly one of Progress, Result and Error must be
// set.
type Message struct {
	// Progress is the part that is done, from 0 to 1. The daemon estimates the time left from it, so it should be
	// proportional to the time that the rendering takes.
	Progress *float64 `json:"progress,omitempty"`
	// Stage is what the program does from now on. It may be set with Progress only, and stays until another is.
	Stage  Stage   `json:"stage,omitempty"`
	Result *Result `json:"result,omitzero"` // an empty one is an answer
	Error  *Error  `json:"error,omitempty"`
}

// Stage is what a rendering does.
type Stage string

// The stages of a rendering.
const (
	Fetching  Stage = "fetching"  // its files
	Analysing Stage = "analysing" // the face and the sound
	Speaking  Stage = "speaking"  // the text
	Drawing   Stage = "drawing"   // the pictures
	Finishing Stage = "finishing" // the files
)

// Result is the result of a rendering. Its files are names in the output directory, without a directory
// part.
type Result struct {
	// Video is the file of the video. Required for videos and lip-syncs, optional for avatars.
	Video string `json:"video,omitempty"`
	// Thumbnail is a picture of the video or avatar. Optional.
	Thumbnail string `json:"thumbnail,omitempty"`
	// Previews are small pictures of the video or avatar. Optional.
	Previews Previews `json:"previews,omitzero"`
	// Voice is the speech as a sound file that browsers play, such as M4A. Optional.
	Voice string `json:"voice,omitempty"`
	// Subtitles is the speech as an SRT file, whose name ends in .srt. Optional.
	Subtitles string `json:"subtitles,omitempty"`
	// Captions is the subtitles as WebVTT, in a file whose name ends in .vtt. Optional.
	Captions string `json:"captions,omitempty"`
	// Language is the language of the speech and the subtitles, a BCP 47 tag such as "pt-BR". Optional.
	Language string `json:"language,omitempty"`
	// Files are files of an avatar that the renderings of its videos need. At most 32.
	Files []string `json:"files,omitempty"`
	// DurationSeconds is the length of the video, at most 24 hours.
	DurationSeconds float64 `json:"duration_seconds,omitzero"`
	// Checks are the findings about the input. At most 32.
	Checks []Check `json:"checks,omitempty"`
	// Voices are the answer to a request of the kind [Voices]. At most 1000; a message is at most 64 KiB long.
	Voices []Voice `json:"voices,omitempty"`
}

// Voice is a voice that speaks text.
type Voice struct {
	// ID identifies the voice, of at most 128 characters. It must not change.
	ID string `json:"id"`
	// Language is the language that the voice speaks, a BCP 47 tag such as "pt-BR".
	Language string `json:"language"`
	// Name is for people. It is cut to [MaxText] characters.
	Name string `json:"name"`
	// Gender is how the voice sounds, such as "female". Optional.
	Gender string `json:"gender,omitempty"`
}

// Previews are files with small pictures of a video or avatar. Each is optional.
type Previews struct {
	// Still is a PNG, and StillPlay the same with a play button.
	Still     string `json:"still,omitempty"`
	StillPlay string `json:"still_play,omitempty"`
	// Animation is a GIF of two seconds, and AnimationPlay the same with a play button.
	Animation     string `json:"animation,omitempty"`
	AnimationPlay string `json:"animation_play,omitempty"`
}

// Error is a failure that the program reports. It implements error.
type Error struct {
	// Reason is a sentence for the client. It is cut to [MaxText] characters.
	Reason string `json:"reason"`
	// Permanent means that the daemon must not retry the rendering.
	Permanent bool `json:"permanent,omitzero"`
	// Checks are the findings about the input, with the one that failed. At most 32.
	Checks []Check `json:"checks,omitempty"`
}

func (e *Error) Error() string { return e.Reason }

// Check is one finding about the input.
type Check struct {
	// Name is in snake case, such as "one_face".
	Name   string      `json:"name"`
	Status CheckStatus `json:"status"`
	// Message is a sentence for the client. It is cut to [MaxText] characters.
	Message string `json:"message"`
}

// CheckStatus is the outcome of a check.
type CheckStatus string

// The outcomes of a check.
const (
	Succeeded CheckStatus = "SUCCESS"
	Failed    CheckStatus = "FAILED"
)
