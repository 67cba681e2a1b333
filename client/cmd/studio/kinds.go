package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) avatarCommand() *cli.Command {
	return &cli.Command{
		Name: "avatar", Usage: "create avatars and watch their progress",
		Description: "Examples:\n" + example("avatar", "create --title Ada --watch"),
		Commands: []*cli.Command{
			p.createCommand("avatar", example("avatar", `create --title Ada --base-video-url https://media.example.com/ada.mp4
  studio avatar create --title Ada --webhook-url https://hooks.example.com/ --watch`),
				[]cli.Flag{&cli.StringFlag{Name: "base-video-url", Usage: "URL of the video or photo from which the avatar is made"}, webhookFlag()},
				[]fileFlag{{"video", "base-video-url"}}, createAvatar, getAvatar),
			p.showCommand("avatar", getAvatar),
			p.watchCommand("avatar", getAvatar),
			p.downloadCommand("avatar", "still image of the avatar", client.AvatarThumbnail, nil),
			p.listCommand("avatar", "processing, consent_pending, published, failed or consent_failed", listOf((*client.Client).Avatars, avatarParams)),
			p.deleteCommand("avatar", "avatar with this id and its videos", deleteAvatar),
			p.consentCommand(),
		},
	}
}

func createAvatar(command *cli.Command) request {
	body := gen.CreateAvatarRequest{Title: optionalFlag(command, "title"), BaseVideoURL: optionalFlag(command, "base-video-url")}
	body.WebhookData, body.Webhook = webhookOf(command)
	return requestOf((*client.Client).CreateAvatar, body)
}

func (p *program) consentCommand() *cli.Command {
	return p.serviceLeaf("consent", "give or refuse the consent of the person in an avatar", "ID",
		example("avatar", "consent --granted ID\n  studio avatar consent --refused ID"),
		[]cli.Flag{
			&cli.BoolFlag{Name: "granted", Usage: "give consent"},
			&cli.BoolFlag{Name: "refused", Usage: "refuse consent"},
		},
		func(ctx context.Context, command *cli.Command, c *client.Client) error {
			body := gen.ConsentRequest{AvatarID: command.Args().First(), Granted: command.Bool("granted")}
			if body.Granted == command.Bool("refused") {
				return usagef("use either --granted or --refused")
			}
			s, err := send(ctx, c, requestOf((*client.Client).SubmitConsent, body))
			if err != nil {
				return err
			}
			return p.show(command, s)
		})
}

func (p *program) videoCommand() *cli.Command {
	return &cli.Command{
		Name: "video", Usage: "create videos from avatars and watch their progress",
		Description: "Examples:\n" + example("video", "create --avatar ID --text Hello. --watch"),
		Commands: []*cli.Command{
			p.createCommand("video", example("video", `create --avatar ID --text "Good morning."
  studio video create --avatar ID --text "Bom dia." --language pt-BR --speed 0.8
  studio video create --avatar ID --audio-url https://media.example.com/hello.mp3 --watch`),
				[]cli.Flag{
					&cli.StringFlag{Name: "avatar", Usage: "id of a published avatar", Required: true},
					&cli.StringFlag{Name: "text", Usage: "text that the avatar speaks"},
					&cli.StringFlag{Name: "audio-url", Usage: "URL of a recording of the speech of the avatar"},
					&cli.StringFlag{Name: "voice", Usage: `voice that speaks the text: an id of "studio voice list"`},
					&cli.StringFlag{Name: "language", Usage: "language of the text, such as pt-BR; its first voice speaks unless --voice names another"},
					&cli.FloatFlag{Name: "speed", Usage: "speed of the speech, from 0.5 to 2", DefaultText: "1"},
				},
				[]fileFlag{{"audio", "audio-url"}}, createVideo, getVideo),
			p.showCommand("video", getVideo),
			p.watchCommand("video", getVideo),
			p.downloadCommand("video", "video", client.VideoFile, client.VideoThumbnail),
			p.listCommand("video", "processing, succeeded or failed", listOf((*client.Client).Videos, videoParams), &cli.StringFlag{Name: "avatar", Usage: "list only videos made from the avatar with this id"}),
			p.deleteCommand("video", "video with this id", deleteVideo),
		},
	}
}

func createVideo(command *cli.Command) request {
	body := gen.CreateVideoRequest{
		AvatarID: command.String("avatar"), Title: optionalFlag(command, "title"),
		Text: optionalFlag(command, "text"), AudioURL: optionalFlag(command, "audio-url"),
	}
	body.Voice, body.Language = optionalFlag(command, "voice"), optionalFlag(command, "language")
	if command.IsSet("speed") {
		body.Speed = gen.Value(command.Float("speed"))
	}
	return requestOf((*client.Client).CreateVideo, body)
}

func (p *program) lipsyncCommand() *cli.Command {
	return &cli.Command{
		Name: "lipsync", Usage: "create lip-syncs and watch their progress",
		Description: "Examples:\n" + example("lipsync", "create --title Greeting --watch"),
		Commands: []*cli.Command{
			p.createCommand("lipsync", example("lipsync", `create --video-url https://media.example.com/ada.mp4 --audio-url https://media.example.com/hello.mp3
  studio lipsync create --video face.jpg --audio hello.wav --watch`),
				[]cli.Flag{
					&cli.StringFlag{Name: "video-url", Usage: "URL of the video or photo in which the lips move"},
					&cli.StringFlag{Name: "audio-url", Usage: "URL of the recording that the lips follow"},
					&cli.BoolFlag{Name: "use-audio-from-video", Usage: "use the audio of the video instead of a recording"},
					&cli.StringFlag{Name: "sync-mode", Usage: "what to do if the recording is longer or shorter than the video: bounce, loop, cut_off, silence or remap"},
					&cli.StringFlag{Name: "description", Usage: "description of the lip-sync"},
					webhookFlag(),
				},
				[]fileFlag{{"video", "video-url"}, {"audio", "audio-url"}}, createLipsync, getLipsync),
			p.showCommand("lipsync", getLipsync),
			p.watchCommand("lipsync", getLipsync),
			p.downloadCommand("lipsync", "video of the lip-sync", client.LipsyncFile, client.LipsyncThumbnail),
			p.listCommand("lipsync", "processing, succeeded or failed", listOf((*client.Client).Lipsyncs, lipsyncParams)),
			p.deleteCommand("lipsync", "lip-sync with this id", deleteLipsync),
		},
	}
}

func createLipsync(command *cli.Command) request {
	body := gen.CreateLipsyncRequest{
		Title: optionalFlag(command, "title"), VideoURL: optionalFlag(command, "video-url"), AudioURL: optionalFlag(command, "audio-url"),
		Description: optionalFlag(command, "description"),
	}
	if command.IsSet("use-audio-from-video") {
		body.UseAudioFromVideo = gen.Value(command.Bool("use-audio-from-video"))
	}
	if command.IsSet("sync-mode") {
		body.SyncMode = gen.Value(gen.SyncMode(command.String("sync-mode")))
	}
	body.WebhookData, body.Webhook = webhookOf(command)
	return requestOf((*client.Client).CreateLipsync, body)
}
