import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["CreateLipsyncRequest"] = {
  audio_url: "https://media.example.com/bonjour.wav",
  description: "For the team in Lyon.",
  sync_mode: "cut_off",
  title: "Greeting in French",
  video_url: "https://media.example.com/greeting.mp4",
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
