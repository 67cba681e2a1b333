import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["ReplayRequest"] = {
  event_ids: [
    "01936f40-0000-8000-8000-000000000003"
  ],
  states: [
    "exhausted",
    "delivered"
  ]
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/events/replay`, {
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
const result: components["schemas"]["Replay"] = await response.json();
console.log(result);
