import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const response = await fetch(`${process.env.STUDIO_BASE_URL}/projects/v2`, {
  headers: {
    Authorization: `Bearer ${process.env.STUDIO_TOKEN}`,
    "x-workspace-id": `${process.env.STUDIO_WORKSPACE}`,
  },
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
const result: components["schemas"]["ProjectList"] = await response.json();
console.log(result);
