curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/lipsync/delete_lipsync" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "inference_id": "01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52"
}'
