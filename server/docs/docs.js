'use strict';

const dark = matchMedia('(prefers-color-scheme: dark)');
const followTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followTheme);
followTheme();

const reference = document.getElementById('reference');
const server = { url: location.origin + reference.dataset.basePath };
let bearerSchemes = [];

// The requests of a reader go to this origin, whatever servers the document names.
const serveHere = () => ({
  statePlugins: { spec: { wrapActions: {
    updateJsonSpec: (next) => (spec) => {
      bearerSchemes = Object.entries(spec.components?.securitySchemes ?? {})
        .filter(([, scheme]) => scheme.type === 'http' && scheme.scheme?.toLowerCase() === 'bearer')
        .map(([name]) => name);
      return next({ ...spec, servers: [server] });
    },
  } } },
});

const ui = SwaggerUIBundle({
  domNode: reference,
  url: 'openapi.yaml',
  plugins: [serveHere],
  deepLinking: true,
  displayRequestDuration: true,
  filter: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  // The access token of a login is used by the requests that follow, until the page is left.
  responseInterceptor: (response) => {
    const token = response.ok && response.body?.access_token;
    if (typeof token === 'string') {
      for (const name of bearerSchemes) ui.preauthorizeApiKey(name, token);
    }
    return response;
  },
});
