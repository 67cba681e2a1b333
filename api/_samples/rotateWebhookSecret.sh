curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/webhooks/rotate_secret" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
