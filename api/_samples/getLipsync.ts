import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/lipsync/inference_details?inference_id=01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52`, {
  headers: {
    Authorization: `Bearer ${process.env.STUDIO_TOKEN}`,
  },
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
const result: components["schemas"]["Lipsync"] = await response.json();
console.log(result);
