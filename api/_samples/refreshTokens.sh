curl --fail-with-body -X POST "$STUDIO_BASE_URL/users/refresh" \
  -H 'Content-Type: application/json' \
  -d '{
  "refresh_token": "c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg"
}'
