curl --fail-with-body "$STUDIO_BASE_URL/v1/voices" \
  -H "Authorization: Bearer $STUDIO_TOKEN"
