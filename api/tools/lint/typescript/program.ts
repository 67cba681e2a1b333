// This program uses every operation and event with the types that openapi-typescript generates. It is compiled, but not
// run. The compiler reports unused operations and events, and types that do not fit their use.
import type { components, operations, webhooks } from "./openapi";

type Schemas = components["schemas"];

// Content is the type of a JSON body, or of a body with another media type.
type Content<T> = [T] extends [{ content: { "application/json": infer Body } }]
  ? Body
  : [T] extends [{ content: infer Media }]
    ? Media[keyof Media]
    : undefined;
type Success<T> = T extends { responses: infer R }
  ? { [S in keyof R]: S extends 200 | 201 ? Content<R[S]> : S extends 204 ? undefined : never }[keyof R]
  : never;
type RequestOf<Id extends Called> = {
  body: operations[Id] extends { requestBody: infer Body } ? Content<Body> : undefined;
  parameters: operations[Id]["parameters"];
};
type Called = Exclude<keyof operations, `notify${string}`>;

declare function call<Id extends Called>(id: Id, request: RequestOf<Id>): Promise<Success<operations[Id]>>;

const none = {};
const key = { header: { "Idempotency-Key": "ada-1" } };
const registration = {
  webhook_data: { webhook_url: "https://hooks.example.com/avatar-studio" },
  webhook: { enabled: true },
};

export const uses: { [Id in Called]: () => Promise<unknown> } = {
  login: async () => {
    const tokens = await call("login", { body: { email: "ada@example.com", password: "secret" }, parameters: none });
    const pair: { access_token: string; refresh_token: string } = tokens;
    return pair;
  },
  refreshTokens: async () => (await call("refreshTokens", { body: { refresh_token: "token" }, parameters: none })).access_token,
  logout: async () => await call("logout", { body: { refresh_token: "token" }, parameters: none }),
  listProjects: async () => {
    const list = await call("listProjects", { body: undefined, parameters: { header: { "x-workspace-id": "films" } } });
    const counts: number = list.size + list.unpublished_projects;
    const titles: (string | null | undefined)[] = list.data.map((project) => project.title);
    return [counts, titles];
  },
  updateProject: async () => {
    const changes = { project_id: "id", tags: { colors: ["#2D7FF9"], names: ["onboarding"] }, shared: true };
    return (await call("updateProject", { body: changes, parameters: none })).smart_url;
  },
  createAvatar: async () => {
    const avatar = await call("createAvatar", { body: { title: "Ada", ...registration }, parameters: key });
    const id: string = avatar.avatar_id;
    return id;
  },
  createVideo: async () => (await call("createVideo", { body: { avatar_id: "id", text: "Hello" }, parameters: key })).inference_id,
  submitConsent: async () => (await call("submitConsent", { body: { avatar_id: "id", granted: true }, parameters: none })).status,
  getAvatar: async () => (await call("getAvatar", { body: undefined, parameters: { query: { avatar_id: "id" } } })).title,
  getVideo: async () => (await call("getVideo", { body: undefined, parameters: { query: { inference_id: "id" } } })).status,
  listVoices: async () => {
    const list = await call("listVoices", { body: undefined, parameters: { query: { language: "pt-BR" } } });
    return list.data.map((voice) => voice.voice_id);
  },
  listAvatars: async () => {
    const page = await call("listAvatars", { body: undefined, parameters: { query: { limit: 100, status: "published" } } });
    const next: string | null | undefined = page.next_cursor;
    return [next, ...page.data.map((avatar) => avatar.avatar_id)];
  },
  listVideos: async () => (await call("listVideos", { body: undefined, parameters: { query: { avatar_id: "id" } } })).data.length,
  listLipsyncs: async () => (await call("listLipsyncs", { body: undefined, parameters: none })).data.map((lipsync) => lipsync.status),
  getWebhookSecrets: async () => (await call("getWebhookSecrets", { body: undefined, parameters: none })).data[0],
  rotateWebhookSecret: async () => (await call("rotateWebhookSecret", { body: undefined, parameters: none })).data[0],
  testWebhook: async () => {
    const sample = { webhook_url: "https://hooks.example.com/avatar-studio", event_type: "avatar_event" } as const;
    return (await call("testWebhook", { body: sample, parameters: none })).duration_ms;
  },
  listEvents: async () => {
    const page = await call("listEvents", { body: undefined, parameters: { query: { order: "oldest", state: "none", attempts: true } } });
    return page.data.map((event) => [handle(event.notification), event.attempts?.map((attempt) => attempt.failure)]);
  },
  streamEvents: async () => (await call("streamEvents", { body: undefined, parameters: { header: { "Last-Event-ID": "id" } } })) satisfies string,
  replayEvents: async () => (await call("replayEvents", { body: { since: "2026-01-12T00:00:00Z", states: ["delivered"] }, parameters: key })).events,
  listEndpoints: async () => (await call("listEndpoints", { body: undefined, parameters: none })).data.map((endpoint) => endpoint.waiting),
  setEndpoint: async () => (await call("setEndpoint", { body: { endpoint_id: "id", state: "paused" }, parameters: none })).paused_at,
  deleteAvatar: async () => (await call("deleteAvatar", { body: { avatar_id: "id" }, parameters: none })) satisfies undefined,
  deleteVideo: async () => (await call("deleteVideo", { body: { inference_id: "id" }, parameters: none })) satisfies undefined,
  deleteLipsync: async () => (await call("deleteLipsync", { body: { inference_id: "id" }, parameters: none })) satisfies undefined,
  uploadMedia: async () => {
    const media = await call("uploadMedia", { body: "bytes of a file", parameters: none });
    const size: number = media.size;
    return [media.media_id, media.url, media.content_type, size, media.expires_at];
  },
  createLipsync: async () => (await call("createLipsync", { body: { title: null, ...registration }, parameters: key })).inference_id,
  getLipsync: async () => (await call("getLipsync", { body: undefined, parameters: { query: { inference_id: "id" } } })).status,
};

type Body<Event extends keyof webhooks> = NonNullable<webhooks[Event]["post"]["requestBody"]>["content"]["application/json"];

export const handlers: { [Event in keyof webhooks]: (event: Body<Event>) => string } = {
  avatar_event: (event) => {
    const status: "processing" | "failed" | "published" | "consent_pending" | "consent_failed" = event.data.status;
    return event.data.avatar_id + status;
  },
  avatar_inference_event: (event) => {
    const status: "succeeded" | "failed" = event.data.status;
    return event.data.inference_id + status;
  },
  lipsync_inference_event: (event) => event.data.inference_id + event.data.status,
};

// event_type distinguishes the types of notifications.
export function handle(event: Schemas["Event"]): string {
  switch (event.event_type) {
    case "avatar_event":
      return handlers.avatar_event(event);
    case "avatar_inference_event":
      return handlers.avatar_inference_event(event);
    case "lipsync_inference_event":
      return handlers.lipsync_inference_event(event);
    default:
      return event satisfies never;
  }
}

export const asEvents = (a: Body<"avatar_event">, b: Body<"avatar_inference_event">, c: Body<"lipsync_inference_event">): Schemas["Event"][] => [a, b, c];
