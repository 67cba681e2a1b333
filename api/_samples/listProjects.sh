curl --fail-with-body "$STUDIO_BASE_URL/projects/v2" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H "x-workspace-id: $STUDIO_WORKSPACE"
