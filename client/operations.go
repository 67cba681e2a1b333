package client

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
)

// ListProjects lists the projects of the workspace of [Config] or [WithWorkspace] (interface, 4.1),
// all of them and newest first. [ErrForbidden] when the user is no member of the workspace.
func (c *Client) ListProjects(ctx context.Context, options ...CallOption) (*gen.ProjectList, error) {
	return decode[gen.ProjectList](c.with(options).ListProjects(ctx, &gen.ListProjectsParams{WorkspaceID: c.workspace}))
}

// CreateAvatar starts the creation of an avatar and registers the webhook of the request, if it is
// enabled, for the avatar and the videos made from it (interface, 4.3 and 6.1). [ErrInvalid] when
// the URL is refused.
func (c *Client) CreateAvatar(ctx context.Context, request gen.CreateAvatarRequest, options ...CallOption) (*gen.Avatar, error) {
	return decode[gen.Avatar](c.create(options).CreateAvatar(ctx, nil, request))
}

// GetAvatar reads an avatar (extension). [ErrNotFound] when the user has none with this id.
func (c *Client) GetAvatar(ctx context.Context, id string, options ...CallOption) (*gen.Avatar, error) {
	return decode[gen.Avatar](c.with(options).GetAvatar(ctx, &gen.GetAvatarParams{AvatarID: id}))
}

// SubmitConsent gives or refuses the consent of the person that an avatar shows (extension).
// [ErrConflict] when the avatar is in a final state.
func (c *Client) SubmitConsent(ctx context.Context, request gen.ConsentRequest, options ...CallOption) (*gen.Avatar, error) {
	return decode[gen.Avatar](c.with(options).SubmitConsent(ctx, request))
}

// CreateVideo starts the creation of a video from an avatar (extension). [ErrConflict] unless the
// avatar is published.
func (c *Client) CreateVideo(ctx context.Context, request gen.CreateVideoRequest, options ...CallOption) (*gen.Video, error) {
	return decode[gen.Video](c.create(options).CreateVideo(ctx, nil, request))
}

// GetVideo reads a video that was made from an avatar (extension). [ErrNotFound] when the user has
// none with this id.
func (c *Client) GetVideo(ctx context.Context, id string, options ...CallOption) (*gen.Video, error) {
	return decode[gen.Video](c.with(options).GetVideo(ctx, &gen.GetVideoParams{InferenceID: id}))
}

// CreateLipsync starts the creation of a lip-sync video and registers the webhook of the request,
// if it is enabled (interface, 4.3 and 6.1). [ErrInvalid] when the URL is refused.
func (c *Client) CreateLipsync(ctx context.Context, request gen.CreateLipsyncRequest, options ...CallOption) (*gen.Lipsync, error) {
	return decode[gen.Lipsync](c.create(options).CreateLipsync(ctx, nil, request))
}

// GetLipsync reads a lip-sync video (extension). [ErrNotFound] when the user has none with this id.
func (c *Client) GetLipsync(ctx context.Context, id string, options ...CallOption) (*gen.Lipsync, error) {
	return decode[gen.Lipsync](c.with(options).GetLipsync(ctx, &gen.GetLipsyncParams{InferenceID: id}))
}
