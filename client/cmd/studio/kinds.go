package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func (p *program) avatarCommand() *cli.Command {
	avatar := kind{
		name: "avatar", noun: "avatar", usage: "create avatars and watch their progress",
		examples: `  studio avatar create --title Ada --base-video-url https://media.example.com/ada.mp4
  studio avatar create --title Ada --webhook-url https://hooks.example.com/ --watch`,
		flags: []cli.Flag{&cli.StringFlag{Name: "base-video-url", Usage: "URL of the video or photo from which the avatar is made"}, webhookFlag()},
		files: []fileFlag{{"video", "base-video-url"}}, create: creationOf((*client.Client).CreateAvatar),
		get:  func(id string) request { return requestOf((*client.Client).GetAvatar, id) },
		file: "still image of the avatar", main: client.AvatarThumbnail,
		statuses: "processing, consent_pending, published, failed or consent_failed", list: listAvatars,
		deletes: "avatar with this id and its videos",
		delete: func(ctx context.Context, c *client.Client, id string) error {
			return c.DeleteAvatar(ctx, gen.DeleteAvatarRequest{AvatarID: id})
		},
	}
	return p.kindCommand(avatar, p.serviceLeaf("consent", "give or refuse the consent of the person in an avatar", "ID",
		example("avatar", "consent --granted ID\n  studio avatar consent --refused ID"),
		[]cli.Flag{
			&cli.BoolFlag{Name: "granted", Usage: "give consent"},
			&cli.BoolFlag{Name: "refused", Usage: "refuse consent"},
		}, p.consent))
}

func (p *program) consent(ctx context.Context, command *cli.Command, c *client.Client) error {
	body := gen.ConsentRequest{AvatarID: command.Args().First(), Granted: command.Bool("granted")}
	if body.Granted == command.Bool("refused") {
		return usagef("use either --granted or --refused")
	}
	return p.show(ctx, command, c, requestOf((*client.Client).SubmitConsent, body))
}

func speed(n float64) error {
	if n >= 0.5 && n <= 2 { // not NaN
		return nil
	}
	return usagef("must be from 0.5 to 2")
}

func (p *program) videoCommand() *cli.Command {
	return p.kindCommand(kind{
		name: "video", noun: "video", usage: "create videos from avatars and watch their progress",
		examples: `  studio video create --avatar ID --text "Good morning."
  studio video create --avatar ID --text "Bom dia." --language pt-BR --speed 0.8
  studio video create --avatar ID --audio-url https://media.example.com/hello.mp3 --watch`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "avatar", Usage: "id of a published avatar", Required: true},
			&cli.StringFlag{Name: "text", Usage: "text that the avatar speaks"},
			&cli.StringFlag{Name: "audio-url", Usage: "URL of a recording of the speech of the avatar"},
			&cli.StringFlag{Name: "voice", Usage: `voice that speaks the text: an id of "studio voice list"`},
			&cli.StringFlag{Name: "language", Usage: "language of the text, such as pt-BR; its first voice speaks unless --voice names another"},
			&cli.FloatFlag{Name: "speed", Usage: "speed of the speech, from 0.5 to 2", DefaultText: "1", Validator: speed},
		},
		files: []fileFlag{{"audio", "audio-url"}}, create: creationOf((*client.Client).CreateVideo),
		get:  func(id string) request { return requestOf((*client.Client).GetVideo, id) },
		file: "video", main: client.VideoFile, thumbnail: client.VideoThumbnail,
		statuses: "processing, succeeded or failed", list: listVideos,
		filters: []cli.Flag{&cli.StringFlag{Name: "avatar", Usage: "list only videos made from the avatar with this id"}},
		deletes: "video with this id",
		delete: func(ctx context.Context, c *client.Client, id string) error {
			return c.DeleteVideo(ctx, gen.DeleteInferenceRequest{InferenceID: id})
		},
	})
}

func (p *program) lipsyncCommand() *cli.Command {
	return p.kindCommand(kind{
		name: "lipsync", noun: "lip-sync", usage: "create lip-syncs and watch their progress",
		examples: `  studio lipsync create --video-url https://media.example.com/ada.mp4 --audio-url https://media.example.com/hello.mp3
  studio lipsync create --video face.jpg --audio hello.wav --watch`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "video-url", Usage: "URL of the video or photo in which the lips move"},
			&cli.StringFlag{Name: "audio-url", Usage: "URL of the recording that the lips follow"},
			&cli.BoolFlag{Name: "use-audio-from-video", Usage: "use the audio of the video instead of a recording"},
			&cli.StringFlag{Name: "sync-mode", Usage: "what to do if the recording is longer or shorter than the video: bounce, loop, cut_off, silence or remap"},
			&cli.StringFlag{Name: "description", Usage: "description of the lip-sync"},
			webhookFlag(),
		},
		files: []fileFlag{{"video", "video-url"}, {"audio", "audio-url"}}, create: creationOf((*client.Client).CreateLipsync),
		get:  func(id string) request { return requestOf((*client.Client).GetLipsync, id) },
		file: "video of the lip-sync", main: client.LipsyncFile, thumbnail: client.LipsyncThumbnail,
		statuses: "processing, succeeded or failed", list: listLipsyncs,
		deletes: "lip-sync with this id",
		delete: func(ctx context.Context, c *client.Client, id string) error {
			return c.DeleteLipsync(ctx, gen.DeleteInferenceRequest{InferenceID: id})
		},
	})
}

func webhookFlag() cli.Flag {
	return &cli.StringFlag{Name: "webhook-url", Usage: "URL that receives notifications"}
}

func (p *program) voiceCommand() *cli.Command {
	return group("voice", "list the voices that speak text", example("voice", "list --language pt-BR"),
		p.serviceLeaf("list", "list the voices that speak text", "", example("voice", "list\n  studio voice list --language pt-BR --json"),
			[]cli.Flag{&cli.StringFlag{Name: "language", Usage: "list only the voices of this language, such as pt-BR"}}, p.listVoices))
}

func (p *program) listVoices(ctx context.Context, command *cli.Command, c *client.Client) error {
	list, err := c.ListVoices(ctx, client.ListVoicesParams{Language: flagValue[gen.LanguageFilter](command, "language")})
	if err != nil {
		return err
	}
	table := p.table(command, "ID", "LANGUAGE", "GENDER", "NAME")
	for _, v := range list.Data {
		_ = table.Add(v, v.VoiceID, v.Language, gen.Or(v.Gender, ""), v.Name) // Flush returns write errors
	}
	return table.Flush()
}
