import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["DeleteInferenceRequest"] = {
  inference_id: "01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52"
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/lipsync/delete_lipsync`, {
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
