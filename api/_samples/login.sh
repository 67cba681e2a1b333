curl --fail-with-body -X POST "$STUDIO_BASE_URL/users/login" \
  -H 'Content-Type: application/json' \
  -d '{
  "email": "ada@example.com",
  "password": "correct horse battery staple"
}'
