import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["DeleteInferenceRequest"] = {
  inference_id: "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41"
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
