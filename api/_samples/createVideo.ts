import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["CreateVideoRequest"] = {
  avatar_id: "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30",
  text: "Hello, and welcome.",
  title: "Greeting"
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/avatars/create_video`, {
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
const result: components["schemas"]["Video"] = await response.json();
console.log(result);
