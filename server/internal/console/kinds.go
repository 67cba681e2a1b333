package console

import "github.com/avatarstudio/avatarstudio/server/internal/studio"

// kind describes the pages of a kind of subject.
type kind struct {
	Kind        studio.Kind
	Path        string
	Title       string // of the list
	Singular    string // "avatar"
	Description string
	Statuses    []studio.Status
	createPath  string // of the API
	idMember    string // the member of the API's response that contains the id
}

func kinds() []kind {
	inference := []studio.Status{studio.Processing, studio.Succeeded, studio.Failed}
	return []kind{
		{
			Kind: studio.Avatar, Path: Path + "/avatars", Title: "Avatars", Singular: "avatar",
			Description: "An avatar is created from a recording of a person, who must give consent. A published avatar can speak in videos.",
			Statuses:    []studio.Status{studio.Processing, studio.ConsentPending, studio.Published, studio.ConsentFailed, studio.Failed},
			createPath:  "/v1/avatars/create_avatar", idMember: "avatar_id",
		},
		{
			Kind: studio.Video, Path: Path + "/videos", Title: "Videos", Singular: "video",
			Description: "In a video, a published avatar speaks a text or a recording.",
			Statuses:    inference, createPath: "/v1/avatars/create_video", idMember: "inference_id",
		},
		{
			Kind: studio.Lipsync, Path: Path + "/lipsyncs", Title: "Lip-syncs", Singular: "lip-sync",
			Description: "A lip-sync changes a video so that the lips match a recording.",
			Statuses:    inference, createPath: "/v1/lipsync/create_lipsync", idMember: "inference_id",
		},
	}
}

// Avatar reports whether k is the kind of avatars.
func (k kind) Avatar() bool { return k.Kind == studio.Avatar }
