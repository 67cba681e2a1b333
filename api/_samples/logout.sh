curl --fail-with-body -X POST "$STUDIO_BASE_URL/users/logout" \
  -H 'Content-Type: application/json' \
  -d '{
  "refresh_token": "c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg"
}'
