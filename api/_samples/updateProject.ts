import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["UpdateProjectRequest"] = {
  project_id: "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41",
  shared: true,
  tags: {
    colors: [
      "#2D7FF9"
    ],
    names: [
      "onboarding"
    ]
  }
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/projects/update`, {
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
const result: components["schemas"]["Project"] = await response.json();
console.log(result);
