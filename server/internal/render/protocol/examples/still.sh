#!/bin/sh
# still.sh is the smallest useful renderer of lip-syncs. It shows the picture, or the first frame of the
# video, in video_url for the length of audio_url. It needs ffmpeg and jq.
set -eu
request=$(cat)
field() { printf '%s' "$request" | jq -r "$1 // empty"; }
fail() { jq -cn --arg reason "$1" '{error: {reason: $reason, permanent: true}}' && exit; }

[ "$(field .kind)" = lipsync ] || fail "This renderer makes lip-syncs only."
picture=$(field .inputs.video_url) sound=$(field .inputs.audio_url) out=$(field .output_dir)
[ -n "$picture" ] && [ -n "$sound" ] || fail "This renderer needs video_url and audio_url."
local="-protocol_whitelist file,pipe"

ffmpeg -v error -y $local -i "$picture" -frames:v 1 -vf 'crop=iw-mod(iw\,2):ih-mod(ih\,2)' "$out/still.jpg" ||
	fail "The video or picture cannot be read."
seconds=$(ffprobe -v error $local -show_entries format=duration -of csv=p=0 "$sound") || fail "The sound cannot be read."
echo '{"progress":0.2,"stage":"drawing"}'
ffmpeg -v error -loop 1 -i "$out/still.jpg" $local -i "$sound" -t "$seconds" -c:v libx264 -tune stillimage \
	-pix_fmt yuv420p -c:a aac -movflags +faststart "$out/out.mp4" || fail "The sound cannot be read."
jq -cn --argjson s "$seconds" '{result: {video: "out.mp4", thumbnail: "still.jpg", duration_seconds: $s}}'
