curl --fail-with-body "$STUDIO_BASE_URL/v1/avatars/avatar_details?avatar_id=01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
