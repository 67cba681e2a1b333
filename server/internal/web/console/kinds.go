package console

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// kind describes the pages of a kind of subject.
type kind struct {
	Kind        studio.Kind
	Path        string
	Title       string // of the list
	Singular    string // "avatar"
	Description string
	createPath  string   // of the API
	idMember    string   // the member of the API's response that contains the id
	needed      []string // the fields of which one must be filled in, because the rendering fails otherwise
	neededText  string   // the error if none is
}

func kinds() []kind {
	return []kind{
		{
			Kind: studio.Avatar, Path: Path + "/avatars", Title: "Avatars", Singular: "avatar",
			Description: "An avatar is created from a video or a photo of a person, who must give consent. A published avatar can speak in videos.",
			createPath:  "/v1/avatars/create_avatar", idMember: "avatar_id",
		},
		{
			Kind: studio.Video, Path: Path + "/videos", Title: "Videos", Singular: "video",
			Description: "In a video, a published avatar speaks a text or a recording.",
			createPath:  "/v1/avatars/create_video", idMember: "inference_id",
			needed: []string{"text", "audio_url"}, neededText: "Enter a text, or a recording below.",
		},
		{
			Kind: studio.Lipsync, Path: Path + "/lipsyncs", Title: "Lip-syncs", Singular: "lip-sync",
			Description: "A lip-sync changes a video or a photo so that the lips match a recording.",
			createPath:  "/v1/lipsync/create_lipsync", idMember: "inference_id",
			needed: []string{"audio_url", "use_audio_from_video"}, neededText: "Enter a recording, or use the audio of the video.",
		},
	}
}

// kindOf returns the description of a kind.
func kindOf(name studio.Kind) kind {
	for _, one := range kinds() {
		if one.Kind == name {
			return one
		}
	}
	return kind{}
}

// pathOf returns the path of the page of a subject.
func (k kind) pathOf(id string) string { return k.Path + "/" + url.PathEscape(id) }

// Avatar reports whether k is the kind of avatars.
func (k kind) Avatar() bool { return k.Kind == studio.Avatar }

// name returns a title as one line, or a text for subjects without one.
func (k kind) name(title *string) string {
	line := ""
	if title != nil {
		line = studio.Line(*title)
	}
	return cmp.Or(line, "Untitled "+k.Singular)
}

// labels has the names of the members of requests on pages, in the order of the page of a subject.
//
//nolint:gochecknoglobals // a table
var labels = []property{
	{"title", "Title"},
	{"avatar_id", "Avatar"},
	{"description", "Description"},
	{"text", "Text"},
	{"voice", "Voice"},
	{"speed", "Speed"},
	{"base_video_url", "Video or photo"},
	{"video_url", "Video or photo"},
	{"audio_url", "Recording"},
	{"sync_mode", "If video and recording differ in length"},
	{"webhook_url", "Webhook"},
	{"tags", "Tags"},
	{"custom_thumbnail", "Thumbnail"},
}

// label returns the name of a member on pages, or "".
func label(member string) string {
	for _, known := range labels {
		if known.Name == member {
			return known.Value
		}
	}
	return ""
}

// withLabels returns a message of the API or a renderer with the labels of members instead of their names.
func withLabels(message string) string {
	pairs := []string{"the media_id of ", ""}
	for _, known := range labels {
		if strings.Contains(known.Name, "_") { // the others are words
			name := strings.ToLower(known.Value)
			pairs = append(pairs, "The "+known.Name, "The "+name, "the "+known.Name, "the "+name, known.Name, "the "+name)
		}
	}
	return strings.NewReplacer(pairs...).Replace(message)
}
