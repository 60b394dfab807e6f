// The model explorer on a page of its own, without a kernel: the traces of a few sentences are part of the page.

import {inflated} from "./inflated.js";
import {modelExplorer} from "./model_explorer.js";

/** Fill the page from its element #traces: {examples, tour, chapters, traces: {mode: {sentence: {header, numbers, step}}}}. */
function openPage() {
  const {examples, tour, chapters, traces} = JSON.parse(document.getElementById("traces").textContent);
  const host = {
    live: false,
    examples,
    tour,
    address: (name) => (chapters === null ? null : `${chapters}${name}.html`),
    open: ({mode, sentence}) => open(mode, sentence),
    draw: () => {},
    sample: () => {},
  };
  const explorer = modelExplorer(document.getElementById("explorer"), host);
  const open = async (mode, sentence) => {
    const {header, numbers, step} = traces[mode][sentence];
    const text = new TextDecoder().decode(await inflated(header));
    explorer.show(JSON.parse(text), await inflated(numbers), {mode, sentence, step});
  };
  open("translator", examples.translator[0]);
}

openPage();
