package console

import "github.com/avatarstudio/avatarstudio/server/internal/studio"

// kind is how pages name the subjects of a kind.
type kind struct {
	Kind     studio.Kind
	Path     string
	Title    string // of the list
	One      string // "avatar"
	Making   string // how one is made, for who has none
	Statuses []studio.Status
	create   string // the path of the operation
	id       string // its member of the answer
}

func kinds() []kind {
	inference := []studio.Status{studio.Processing, studio.Succeeded, studio.Failed}
	return []kind{
		{
			Kind: studio.Avatar, Path: Path + "/avatars", Title: "Avatars", One: "avatar",
			Making:   "An avatar is made from a recording of a person, who must consent. Videos are made from it.",
			Statuses: []studio.Status{studio.Processing, studio.ConsentPending, studio.Published, studio.ConsentFailed, studio.Failed},
			create:   "/v1/avatars/create_avatar", id: "avatar_id",
		},
		{
			Kind: studio.Video, Path: Path + "/videos", Title: "Videos", One: "video",
			Making:   "In a video, a published avatar says a text, or what a recording says.",
			Statuses: inference, create: "/v1/avatars/create_video", id: "inference_id",
		},
		{
			Kind: studio.Lipsync, Path: Path + "/lipsyncs", Title: "Lip-syncs", One: "lip-sync",
			Making:   "A lip-sync moves the lips in a video as a recording says.",
			Statuses: inference, create: "/v1/lipsync/create_lipsync", id: "inference_id",
		},
	}
}

// Avatar reports whether it is that of avatars.
func (k kind) Avatar() bool { return k.Kind == studio.Avatar }
