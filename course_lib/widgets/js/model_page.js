// The model explorer on a page of its own, without a kernel: the traces of a few sentences are part of the page.

import {modelExplorer} from "./model_explorer.js";

/** Fill the page from its element #traces: {examples, chapters, traces: {mode: {sentence: {header, numbers, step}}}}. */
function openPage() {
  const {examples, chapters, traces} = JSON.parse(document.getElementById("traces").textContent);
  const host = {
    live: false,
    examples,
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

/** The bytes of a text in base64, decompressed (zlib). */
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new DataView(await new Response(stream).arrayBuffer());
}

openPage();
