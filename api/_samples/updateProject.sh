curl --fail-with-body -X POST "$STUDIO_BASE_URL/v1/projects/update" \
  -H "Authorization: Bearer $STUDIO_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "project_id": "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41",
  "shared": true,
  "tags": {
    "colors": [
      "#2D7FF9"
    ],
    "names": [
      "onboarding"
    ]
  }
}'
