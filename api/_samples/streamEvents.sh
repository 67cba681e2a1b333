curl --fail-with-body --no-buffer "$STUDIO_BASE_URL/v1/events/stream" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
