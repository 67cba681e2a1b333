curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/lipsync/create_lipsync" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "audio_url": "https://api.example.com/media/uploads/01936f3e-bd40-7a84-8d60-3f8ea04c5d63/file.wav?expires=1764432000&signature=bmF0",
  "description": "For the team in Lyon.",
  "title": "Greeting in French",
  "webhook": {
    "enabled": true
  },
  "webhook_data": {
    "webhook_url": "https://hooks.example.com/avatar-studio"
  }
}'
