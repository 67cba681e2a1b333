curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/avatars/create_avatar" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "title": "Ada",
  "webhook": {
    "enabled": true
  },
  "webhook_data": {
    "webhook_url": "https://hooks.example.com/avatar-studio"
  }
}'
