curl --fail-with-body "$STUDIO_BASE_URL/v1/events" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
