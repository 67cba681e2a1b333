curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/lipsync/create_lipsync" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "audio_url": "https://media.example.com/bonjour.wav",
  "description": "For the team in Lyon.",
  "sync_mode": "cut_off",
  "title": "Greeting in French",
  "video_url": "https://media.example.com/greeting.mp4",
  "webhook": {
    "enabled": true
  },
  "webhook_data": {
    "webhook_url": "https://hooks.example.com/avatar-studio"
  }
}'
