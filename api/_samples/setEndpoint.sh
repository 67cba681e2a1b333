curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/webhooks/set_endpoint" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "endpoint_id": "ZW5kcG9pbnQtMg",
  "state": "paused"
}'
