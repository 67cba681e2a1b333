// This program uses the types that openapi-typescript generates: all operations at once, lists with their parameters,
// and every event. The samples beside it use the body and the success of each operation. It is compiled, but not run.
// The compiler reports operations without a type, unused events, and types that do not fit their use.
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

// Vague is true for the types that accept every use, or none.
type Vague<T> = 0 extends 1 & T ? true : unknown extends T ? true : [T] extends [never] ? true : false;
type Untyped = { [Id in Called]: true extends Vague<Success<operations[Id]>> | Vague<RequestOf<Id>["body"]> ? Id : never }[Called];

// The compiler names the operations whose request or success has no type.
export const untyped: [Untyped] extends [never] ? [] : [Untyped] = [];

export const lists = {
  listProjects: async () => {
    const list = await call("listProjects", { body: undefined, parameters: { header: { "x-workspace-id": "films" } } });
    const counts: number = list.size + list.unpublished_projects;
    const titles: (string | null | undefined)[] = list.data.map((project) => project.title);
    return [counts, titles];
  },
  listAvatars: async () => {
    const page = await call("listAvatars", { body: undefined, parameters: { query: { limit: 100, status: "published" } } });
    const next: string | null | undefined = page.next_cursor;
    return [next, ...page.data.map((avatar) => avatar.avatar_id)];
  },
  listEvents: async () => {
    const page = await call("listEvents", { body: undefined, parameters: { query: { order: "oldest", state: "none", attempts: true } } });
    return page.data.map((event) => [handle(event.notification), event.attempts?.map((attempt) => attempt.failure)]);
  },
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
