import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body: components["schemas"]["LogoutRequest"] = {
  refresh_token: "c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg"
};

const response = await fetch(`${process.env.STUDIO_BASE_URL}/users/logout`, {
  method: "POST",
  headers: {
    "Content-Type": "application/json",
  },
  body: JSON.stringify(body),
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
