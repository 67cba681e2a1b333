curl --fail-with-body "$STUDIO_BASE_URL/v1/avatars/list" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
