curl --fail-with-body "$STUDIO_BASE_URL/v1/webhooks/endpoints" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
