package talkinghead_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/cmd/studio-render/internal/talkinghead"
)

// A frame is unchanged while the face is gone or covered, and the mouth moves before and after. A video that speaks its
// own sound is as long as that.
func TestMakeLipsync_framesWithoutMouthAreUnchanged(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it renders several videos")
	harness.Need(t, "ffmpeg", "ffprobe")
	const gone = "drawbox=enable='between(t,1,2)':color=teal:t=fill,"
	const covered = "drawbox=enable='between(t,3,4)':x=iw*0.28:y=ih*0.62:w=iw*0.44:h=ih*0.22:color=0x806050:t=fill"
	dir := t.TempDir()
	video, sound := filepath.Join(dir, "video.mp4"), newSound(t, "aevalsrc='0.2*sin(2*PI*720*t)+0.1*sin(2*PI*1200*t)':s=16000", "5")
	ffmpeg(t, "-loop", "1", "-r", "10", "-i", sample(t), "-i", sound, "-t", "5", "-vf", gone+covered+",scale=240:-2,noise=alls=3:allf=t,format=yuv420p",
		"-c:v", "libx264", "-preset", "ultrafast", "-crf", "16", video)
	made := makeLipsync(t, talkinghead.Lipsync{Video: video, UseAudioFromVideo: true})
	plain := filepath.Join(dir, "plain.mp4")
	ffmpeg(t, "-i", video, "-an", "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", plain)
	original, speaking := watch(t, plain), watch(t, made.Video)
	if math.Abs(speaking.video-5) > 0.101 || math.Abs(speaking.audio-5) > 0.101 {
		t.Errorf("pictures last %v s, the sound %v s", speaking.video, speaking.audio)
	}
	between := func(from, to float64) float64 {
		return difference(speaking, original, func(frame, _, _ int) bool {
			at := float64(frame) / speaking.rate
			return at >= from && at < to
		})
	}
	for _, at := range []float64{1.3, 3.3} {
		if psnr := between(at, at+0.6); psnr < 42 {
			t.Errorf("at %v s, without a mouth, the video is changed: PSNR is %.1f dB", at, psnr)
		}
	}
	for _, at := range []float64{0.2, 2.5, 4.5} {
		if psnr := between(at, at+0.3); psnr > 36 {
			t.Errorf("at %v s the mouth does not move: PSNR is %.1f dB", at, psnr)
		}
	}
}
