'use strict';

// liveExamples is a plugin of Swagger UI that makes the examples of requests work. Once a response has another id,
// token, cursor or URL than its example, requests have the real one wherever they have that of the example. An example
// of deleteAvatar thus deletes the avatar that createAvatar created.
const values = new Map(); // from examples to responses

const liveExamples = () => ({
  statePlugins: { spec: { wrapActions: {
    setResponse: (next, system) => (path, method, response) => {
      const spec = system.specSelectors.specJson().toJS();
      const resolve = (object) => (object?.$ref ? object.$ref.slice(2).split('/').reduce((at, name) => at?.[name], spec) : object);
      const content = Object.values(resolve(spec.paths?.[path]?.[method]?.responses?.[response.status])?.content ?? {});
      const examples = content.flatMap(({ example, examples }) => [example, ...Object.values(examples ?? {}).map((one) => resolve(one)?.value)]);
      const equalMembers = (example) => Object.keys(example ?? {}).filter((name) => example[name] === response.body?.[name]).length;
      learn(examples.toSorted((a, b) => equalMembers(b) - equalMembers(a)).find(Boolean), response.body);
      return next(path, method, response);
    },
  } } },
});

// learn reads the members of a response and of the first record in a list, but not those of other objects in it.
const learn = (example, real) => {
  for (const [name, value] of Object.entries(Object(example))) {
    const other = Object(real)[name];
    if (Array.isArray(value)) learn(value[0], Object(other)[0]);
    else if (/(^|_)(id|token|cursor|url)$/.test(name) && typeof other === 'string') values.set(value, other);
  }
};

// withRealValues changes a request.
const withRealValues = (request) => {
  for (const [example, real] of values) {
    request.url = request.url.replaceAll(encodeURIComponent(example), encodeURIComponent(real));
    if (typeof request.body === 'string') request.body = request.body.replaceAll(JSON.stringify(example), JSON.stringify(real));
  }
  return request;
};
