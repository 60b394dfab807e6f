// The model explorer as a widget: the kernel runs the models, and answers what the page asks.

import {modelExplorer} from "./model_explorer.js";

const SETTINGS = {temperature: "temperature", topK: "top_k", topP: "top_p", step: "step"};

function render({model, el}) {
  const host = {
    live: () => true,
    examples: model.get("examples"),
    tour: model.get("tour"),
    address: notebookAddress,
    open: (wanted) => model.send({open: wanted}),
    block: (stack, index) => model.send({block: [stack, index]}),
    draw: (step) => model.send({draw: step}),
    sample: (settings) => {
      for (const [setting, trait] of Object.entries(SETTINGS)) model.set(trait, settings[setting]);
      model.save_changes();
    },
  };
  el.classList.toggle("mx-projected", model.get("projected"));
  const explorer = modelExplorer(el, host);
  const show = () => explorer.show(model.get("trace"), model.get("numbers"), {
    mode: model.get("mode"), sentence: model.get("sentence"), step: model.get("step"),
  });
  const sampled = () => explorer.sampled(model.get("distribution"));
  const fail = () => explorer.fail(model.get("error").text ?? "");
  const block = () => explorer.showBlock(model.get("block"), model.get("block_numbers"));
  const listeners = [["change:trace", show], ["change:distribution", sampled], ["change:error", fail],
    ["change:block", block]];
  for (const [event, listener] of listeners) model.on(event, listener);
  show();
  sampled();
  if (model.get("touring")) explorer.startTour();
  return () => {
    for (const [event, listener] of listeners) model.off(event, listener);
    explorer.destroy();
  };
}

/** The address of a notebook beside the one that is open in Jupyter; null where there is none. */
function notebookAddress(name) {
  return /\/(lab\/tree|notebooks|tree)\//.test(location.pathname) ? `${name}.ipynb` : null;
}

export default {render};
