curl --fail-with-body "$STUDIO_BASE_URL/v1/lipsync/inference_details?inference_id=01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
