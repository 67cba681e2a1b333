import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/avatars/inference_details?inference_id=01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41`, {
  headers: {
    Authorization: `Bearer ${process.env.STUDIO_TOKEN}`,
  },
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
const result: components["schemas"]["Video"] = await response.json();
console.log(result);
