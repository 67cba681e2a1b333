package studio

import "slices"

// Kind is the kind of a subject.
type Kind string

// The kinds of subjects.
const (
	Avatar  Kind = "avatar"
	Video   Kind = "video"
	Lipsync Kind = "lipsync"
)

// KindRules are the rules in which the kinds differ.
type KindRules struct {
	Kind        Kind
	Statuses    []Status // the states that a subject can have, in their usual order
	EventType   string   // of notifications
	ProjectType string   // of the project that a subject is; the interface shows only PERSONALIZED
	Inputs      []string // the members of the request that name files

	// next has the allowed next states. "" is the state before creation. A state without next states is final.
	next map[Status][]Status
}

//nolint:gochecknoglobals // a table
var kinds = []KindRules{
	{
		Kind: Avatar, EventType: "avatar_event", ProjectType: "AVATAR", Inputs: []string{"base_video_url"},
		Statuses: []Status{Processing, ConsentPending, Published, ConsentFailed, Failed},
		next: map[Status][]Status{
			"":             {Processing},
			Processing:     {ConsentPending, Failed},
			ConsentPending: {Published, ConsentFailed},
		},
	},
	{
		Kind: Video, EventType: "avatar_inference_event", ProjectType: "PERSONALIZED", Inputs: []string{"audio_url"},
		Statuses: []Status{Processing, Succeeded, Failed},
		next:     map[Status][]Status{"": {Processing}, Processing: {Succeeded, Failed}},
	},
	{
		Kind: Lipsync, EventType: "lipsync_inference_event", ProjectType: "LIPSYNC", Inputs: []string{"video_url", "audio_url"},
		Statuses: []Status{Processing, Succeeded, Failed},
		next:     map[Status][]Status{"": {Processing}, Processing: {Succeeded, Failed}},
	},
}

// Kinds returns the rules of all kinds. The caller must not change them.
func Kinds() []KindRules { return kinds }

// Rules returns the rules of a kind. Those of an unknown kind allow nothing.
func (k Kind) Rules() KindRules {
	if i := slices.IndexFunc(kinds, func(rules KindRules) bool { return rules.Kind == k }); i >= 0 {
		return kinds[i]
	}
	return KindRules{}
}

// KindOfEvent returns the kind of the subjects of an event type, or "".
func KindOfEvent(eventType string) Kind {
	if i := slices.IndexFunc(kinds, func(rules KindRules) bool { return rules.EventType == eventType }); i >= 0 {
		return kinds[i].Kind
	}
	return ""
}
