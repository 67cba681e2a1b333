curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/media" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: video/mp4' \
  --data-binary @video.mp4
