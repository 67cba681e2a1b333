curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/avatars/submit_consent" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "avatar_id": "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30",
  "granted": true
}'
