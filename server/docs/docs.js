'use strict';

const dark = matchMedia('(prefers-color-scheme: dark)');
const followTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followTheme);
followTheme();

const reference = document.getElementById('reference');
const server = { url: location.origin + reference.dataset.basePath };
let bearerSchemes = [];
let samples = {};
let webhookTags = new Set();
let ui;

// Requests are sent to this origin, whatever the servers of the document are.
const serveHere = () => ({
  statePlugins: { spec: { wrapActions: {
    updateJsonSpec: (next) => (spec) => {
      bearerSchemes = Object.entries(spec.components?.securitySchemes ?? {})
        .filter(([, scheme]) => scheme.type === 'http' && scheme.scheme?.toLowerCase() === 'bearer')
        .map(([name]) => name);
      webhookTags = new Set(Object.values(spec.webhooks ?? {}).flatMap((item) => Object.values(item ?? {})).flatMap((operation) => operation?.tags ?? []));
      addSamples(spec, samples);
      return next({ ...spec, servers: [server] });
    },
  } } },
});

// Screen readers ignore a link inside a button. The button opens the operation.
const plainSummaries = () => ({
  wrapComponents: { DeepLink: (Original, { React }) => ({ text }) => React.createElement('span', null, text) },
});

// Fields to which Swagger UI gives no accessible name.
const names = {
  '#servers': 'Server', '.examples-select-element': 'Example', 'textarea.body-param__text': 'Request body',
};
const nameFields = () => {
  for (const [selector, name] of Object.entries(names)) {
    for (const field of reference.querySelectorAll(selector)) field.ariaLabel ??= name;
  }
  // The section of all webhooks, if they have one tag.
  const heading = reference.querySelector('.webhooks > h2');
  const [tag] = webhookTags;
  if (heading && webhookTags.size === 1 && heading.textContent !== tag) heading.textContent = tag;
};
new MutationObserver(nameFields).observe(reference, { childList: true, subtree: true });

const show = async () => {
  const response = await fetch('docs/samples.json');
  if (response.ok) samples = await response.json();
  ui = SwaggerUIBundle({
    domNode: reference,
    url: 'openapi.yaml',
    plugins: [serveHere, showSamples, showExtensions, foldErrors, plainSummaries, liveExamples],
    deepLinking: true,
    displayRequestDuration: true,
    filter: true,
    validatorUrl: null,
    defaultModelsExpandDepth: 0,
    requestInterceptor: withRealValues,
    // Later requests use the access token of a login, until the page is closed.
    responseInterceptor: (response) => {
      const token = response.ok && response.body?.access_token;
      if (typeof token === 'string') {
        for (const name of bearerSchemes) ui.preauthorizeApiKey(name, token);
      }
      return response;
    },
  });
};
show();
