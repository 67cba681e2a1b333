'use strict';

// showExtensions is a plugin of Swagger UI. It marks the operations with "x-interface: extension".
const showExtensions = ({ React }) => ({
  wrapComponents: {
    OperationSummaryPath: (Path, system) => (props) => React.createElement(React.Fragment, null,
      React.createElement(Path, props),
      system.specSelectors.specJson().getIn([...props.specPath, 'x-interface']) === 'extension' &&
        React.createElement('span', { className: 'badge' }, 'extension')),
  },
});

// foldErrors is a plugin of Swagger UI. It shows a line for each error that an operation responds with, and the rest of
// the error if the reader opens it.
const foldErrors = ({ React }) => {
  const { createElement: h, useState } = React;

  const Fold = ({ Response, ...props }) => {
    const [open, setOpen] = useState(false);
    const [title] = String(props.response.get('description') ?? '').replaceAll('`', '').split(/(?<=\.)\s/);
    return h(React.Fragment, null,
      h('tr', { className: 'error' }, h('td', { colSpan: 3 },
        h('button', { type: 'button', className: 'error-control', 'aria-expanded': open, onClick: () => setOpen(!open) },
          h('span', { className: 'error-code' }, props.code), h('span', null, title)))),
      open && h(Response, props));
  };

  return {
    wrapComponents: {
      response: (Response) => (props) => (/^[123]/.test(props.code) ? h(Response, props) : h(Fold, { Response, ...props })),
    },
  };
};
