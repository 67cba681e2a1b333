import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["ConsentRequest"] = {
  avatar_id: "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30",
  granted: true
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/avatars/submit_consent`, {
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
const result: components["schemas"]["Avatar"] = await response.json();
console.log(result);
