import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["LoginRequest"] = {
  email: "ada@example.com",
  password: "correct horse battery staple"
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/users/login`, {
  method: "POST",
  headers: {
    "Content-Type": "application/json",
  },
  body: JSON.stringify(body),
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
const result: components["schemas"]["TokenPair"] = await response.json();
console.log(result);
