'use strict';

// addSamples adds the samples to each operation of a document that has none.
const addSamples = (spec, samples) => {
  for (const item of Object.values(spec.paths ?? {})) {
    for (const operation of Object.values(item ?? {})) {
      const id = operation?.operationId;
      if (Object.hasOwn(samples, id)) operation['x-codeSamples'] ??= samples[id];
    }
  }
};

// showSamples is a plugin of Swagger UI. It shows the x-codeSamples of an operation above its
// responses: a list of languages, the selected program, and a button to copy it.
const showSamples = ({ React }) => {
  const { createElement: h, useId, useRef, useState } = React;
  let preferred = ''; // the last selected language, for operations that are opened later

  const copy = async (code) => {
    if (navigator.clipboard) { // only available with https and on loopback
      await navigator.clipboard.writeText(code.textContent);
      return;
    }
    getSelection().selectAllChildren(code);
    document.execCommand('copy');
  };

  const Samples = ({ samples }) => {
    const [label, setLabel] = useState(preferred);
    const [copied, setCopied] = useState(false);
    const group = useId();
    const code = useRef(null);
    const shown = samples.find((sample) => sample.label === label) ?? samples[0];
    const choose = (chosen) => { preferred = chosen; setLabel(chosen); setCopied(false); };
    return h('section', { className: 'code-samples' },
      h('div', { className: 'opblock-section-header' }, h('h4', null, 'Code samples')),
      h('div', { className: 'code-sample' },
        h('div', { className: 'code-sample-bar' },
          h('fieldset', null, h('legend', null, 'Language'), samples.map((sample, i) =>
            h('label', { key: i },
              h('input', { type: 'radio', name: group, checked: sample === shown, onChange: () => choose(sample.label) }),
              sample.label))),
          h('span', { role: 'status' }, copied ? 'Copied' : ''),
          h('button', { type: 'button', className: 'btn', onClick: () => copy(code.current).then(() => setCopied(true)) }, 'Copy')),
        h('pre', { tabIndex: 0, 'aria-label': `Code sample, ${shown.label}` }, h('code', { ref: code }, shown.source))));
  };

  return {
    wrapComponents: {
      responses: (Responses, system) => (props) => {
        const own = system.specSelectors.specJson().getIn([...props.specPath.butLast(), 'x-codeSamples'])?.toJS?.();
        const samples = (Array.isArray(own) ? own : [])
          .filter((sample) => typeof sample?.source === 'string')
          .map(({ label, lang, source }) => ({ label: String(label ?? lang), source }));
        return h(React.Fragment, null, samples.length > 0 && h(Samples, { samples }), h(Responses, props));
      },
    },
  };
};
