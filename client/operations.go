package client

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
)

// ListProjects lists the projects of the workspace of [Config] or [WithWorkspace] (interface, 4.1),
// all of them and newest first. [ErrForbidden] when the user is no member of the workspace.
func (c *Client) ListProjects(ctx context.Context, options ...CallOption) (*gen.ProjectList, error) {
	return decode[gen.ProjectList](c.api.ListProjects(ctx, &gen.ListProjectsParams{XWorkspaceID: c.workspace}, edit(options)))
}

// CreateAvatar starts the creation of an avatar and registers the webhook of the request, if it is
// enabled, for the avatar and the videos made from it (interface, 4.3 and 6.1). [ErrInvalid] when
// the URL is refused. See [WithIdempotencyKey] for creating once.
func (c *Client) CreateAvatar(ctx context.Context, request gen.CreateAvatarRequest, options ...CallOption) (*gen.Avatar, error) {
	return decode[gen.Avatar](c.api.CreateAvatar(ctx, nil, request, edit(options)))
}

// GetAvatar reads an avatar (extension). [ErrNotFound] when the user has none with this id.
func (c *Client) GetAvatar(ctx context.Context, id string, options ...CallOption) (*gen.Avatar, error) {
	return decode[gen.Avatar](c.api.GetAvatar(ctx, &gen.GetAvatarParams{AvatarID: id}, edit(options)))
}

// SubmitConsent gives or refuses the consent of the person that an avatar shows (extension).
// [ErrConflict] when the avatar is in a final state.
func (c *Client) SubmitConsent(ctx context.Context, request gen.ConsentRequest, options ...CallOption) (*gen.Avatar, error) {
	return decode[gen.Avatar](c.api.SubmitConsent(ctx, request, edit(options)))
}

// CreateVideo starts the creation of a video from an avatar (extension). [ErrConflict] unless the
// avatar is published. See [WithIdempotencyKey] for creating once.
func (c *Client) CreateVideo(ctx context.Context, request gen.CreateVideoRequest, options ...CallOption) (*gen.Video, error) {
	return decode[gen.Video](c.api.CreateVideo(ctx, nil, request, edit(options)))
}

// GetVideo reads a video that was made from an avatar (extension). [ErrNotFound] when the user has
// none with this id.
func (c *Client) GetVideo(ctx context.Context, id string, options ...CallOption) (*gen.Video, error) {
	return decode[gen.Video](c.api.GetVideo(ctx, &gen.GetVideoParams{InferenceID: id}, edit(options)))
}

// CreateLipsync starts the creation of a lip-sync video and registers the webhook of the request,
// if it is enabled (interface, 4.3 and 6.1). [ErrInvalid] when the URL is refused. See
// [WithIdempotencyKey] for creating once.
func (c *Client) CreateLipsync(ctx context.Context, request gen.CreateLipsyncRequest, options ...CallOption) (*gen.Lipsync, error) {
	return decode[gen.Lipsync](c.api.CreateLipsync(ctx, nil, request, edit(options)))
}

// GetLipsync reads a lip-sync video (extension). [ErrNotFound] when the user has none with this id.
func (c *Client) GetLipsync(ctx context.Context, id string, options ...CallOption) (*gen.Lipsync, error) {
	return decode[gen.Lipsync](c.api.GetLipsync(ctx, &gen.GetLipsyncParams{InferenceID: id}, edit(options)))
}
