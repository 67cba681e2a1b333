import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["SetEndpointRequest"] = {
  endpoint_id: "ZW5kcG9pbnQtMg",
  state: "paused"
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/webhooks/set_endpoint`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${process.env.STUDIO_TOKEN}`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify(body),
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
const result: components["schemas"]["Endpoint"] = await response.json();
console.log(result);
