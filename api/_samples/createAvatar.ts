import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["CreateAvatarRequest"] = {
  title: "Ada",
  webhook: {
    enabled: true
  },
  webhook_data: {
    webhook_url: "https://hooks.example.com/avatar-studio"
  }
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/avatars/create_avatar`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${process.env.STUDIO_TOKEN}`,
    "Content-Type": "application/json",
    "Idempotency-Key": crypto.randomUUID(), // the same when this request is sent again
  },
  body: JSON.stringify(body),
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
const result: components["schemas"]["Avatar"] = await response.json();
console.log(result);
