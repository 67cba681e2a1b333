curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/webhooks/test" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "event_type": "avatar_event",
  "webhook_url": "https://hooks.example.com/avatar-studio"
}'
