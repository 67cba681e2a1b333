curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/events/replay" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "event_ids": [
    "01936f40-0000-8000-8000-000000000003"
  ],
  "states": [
    "exhausted",
    "delivered"
  ]
}'
