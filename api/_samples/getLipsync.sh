curl --fail-with-body "$STUDIO_BASE_URL/v1/lipsync/inference_details?inference_id=01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
