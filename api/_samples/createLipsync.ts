import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["CreateLipsyncRequest"] = {
  audio_url: "https://api.example.com/media/uploads/01936f3e-bd40-7a84-8d60-3f8ea04c5d63/file.wav?expires=1764432000&signature=bmF0",
  description: "For the team in Lyon.",
  title: "Greeting in French",
  webhook: {
    enabled: true
  },
  webhook_data: {
    webhook_url: "https://hooks.example.com/avatar-studio"
  }
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/lipsync/create_lipsync`, {
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
const result: components["schemas"]["Lipsync"] = await response.json();
console.log(result);
