import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/voices`, {
  headers: {
    Authorization: `Bearer ${process.env.STUDIO_TOKEN}`,
  },
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
const result: components["schemas"]["VoiceList"] = await response.json();
console.log(result);
