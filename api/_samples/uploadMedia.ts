import { readFile } from "node:fs/promises";
import type { components } from "./openapi"; // npx openapi-typescript "$STUDIO_BASE_URL/openapi.yaml" -o openapi.d.ts

const body = await readFile("video.mp4");

const response = await fetch(`${process.env.STUDIO_BASE_URL}/v1/media`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${process.env.STUDIO_TOKEN}`,
    "Content-Type": "video/mp4",
  },
  body,
});
if (!response.ok) {
  throw new Error(`${response.status}: ${await response.text()}`);
}
const result: components["schemas"]["Media"] = await response.json();
console.log(result);
