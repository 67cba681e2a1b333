# Runs in a container of the image, without a network: starts the service as the image does, asks it for a page, and
# makes a video. /mnt has the client and a picture of a face.
set -eu
studiod serve 2>/tmp/log &
trap 'code=$?; [ $code = 0 ] || cat /tmp/log; kill $!; wait $! || exit 1; exit $code' EXIT
for _ in $(seq 100); do
	! studiod health >/dev/null 2>&1 || break
	sleep 0.1
done
studiod health
[ "$(id -u)" != 0 ]
[ -s /data/studio.db ]
exec 3<>/dev/tcp/127.0.0.1/8080
printf 'GET /console/login HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
grep '^HTTP/1.[01] 200' <&3

echo 'correct horse battery staple' | studiod user add ada@example.com >/dev/null
workspace=$(studiod workspace add Team)
studiod workspace member "$workspace" ada@example.com
STUDIO_TOKEN=$(studiod key add ada@example.com test) STUDIO_BASE_URL=http://127.0.0.1:8080 STUDIO_WORKSPACE=$workspace
export STUDIO_TOKEN STUDIO_BASE_URL STUDIO_WORKSPACE
espeak-ng -w /tmp/hello.wav 'Good morning.'
/mnt/studio lipsync create --video /mnt/presenter.jpg --audio /tmp/hello.wav --watch | tee /tmp/lipsync
/mnt/studio lipsync download "$(grep -oE '[0-9a-f]{8}-[0-9a-f-]{27}' /tmp/lipsync | head -n 1)" -o /tmp/hello.mp4
ffprobe -v error -show_entries stream=codec_type -of csv=p=0 /tmp/hello.mp4 | sort | tr '\n' ' ' | grep 'audio video'
