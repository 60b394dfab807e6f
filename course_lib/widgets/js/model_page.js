// The model explorer on a page of its own, without a kernel: translations are recorded, and the GPT runs in the page.

import {PageGPT, readWeights} from "./gpt.js";
import {inflated} from "./inflated.js";
import {modelExplorer} from "./model_explorer.js";
import {nextTokenProbabilities} from "./trace.js";

const PAUSE = 400; // milliseconds after the last letter
const SLICE = 12; // milliseconds: so long does the GPT keep the page from doing anything else

const partOfPage = (id) => JSON.parse(document.getElementById(id).textContent);
const readJSON = async (text) => JSON.parse(new TextDecoder().decode(await inflated(text)));

/**
 * Fill the page from its elements #traces: {examples, tour, chapters, traces: {sentence: {header, numbers, step}}}, and
 * #gpt: {about, weights}, which is read once it is asked for.
 */
function openPage() {
  const {examples, tour, chapters, traces} = partOfPage("traces");
  let gpt = null; // a promise, from the first text on
  let shown = null; // the trace of the GPT that was shown last
  let asked = 0; // only the last question is answered
  const host = {
    live: (mode) => mode === "gpt",
    pause: PAUSE,
    examples,
    tour,
    address: (name) => (chapters === null ? null : `${chapters}${name}.html`),
    open: (wanted) => open(wanted),
    draw: (step, settings) => {
      const {probabilities} = nextTokenProbabilities(shown, step, settings);
      const drawn = shown.orders[step][drawFrom(probabilities)];
      open({mode: "gpt", sentence: shown.sentence, prefix: [...shown.chosen_ids.slice(0, step), drawn]});
    },
    sample: () => {},
  };
  const explorer = modelExplorer(document.getElementById("explorer"), host);

  async function open({mode, sentence, prefix}) {
    asked += 1;
    const own = asked;
    try {
      if (mode === "translator") {
        const {header, numbers, step} = traces[sentence];
        const [read, bytes] = [await readJSON(header), await inflated(numbers)];
        if (own === asked) explorer.show(read, bytes, {mode, sentence, step});
        return;
      }
      gpt ??= loadGPT();
      const trace = await (await gpt).trace(sentence, prefix, breathing(() => own === asked));
      if (!trace) return;
      shown = {...trace, sentence};
      explorer.show(trace, null, {mode, sentence, step: Math.max(0, prefix.length - 1)});
    } catch (error) {
      if (own === asked) explorer.fail(`${error.message} The picture still shows the previous text.`);
    }
  }

  open({mode: "translator", sentence: examples.translator[0]});
}

async function loadGPT() {
  const {about, weights} = partOfPage("gpt");
  return new PageGPT(readWeights(await inflated(weights)), await readJSON(about));
}

/** Whether to go on, asked again and again: once a slice of time is used up, the page has its turn first. */
function breathing(goOn) {
  let since = performance.now();
  return async () => {
    if (performance.now() - since > SLICE) {
      await new Promise((done) => setTimeout(done));
      since = performance.now();
    }
    return goOn();
  };
}

/** An index, drawn with these probabilities. */
function drawFrom(probabilities) {
  let left = Math.random();
  const found = probabilities.findIndex((p) => (left -= p) < 0);
  return Math.max(0, found); // rounding may leave the probabilities a little below 1 in all
}

openPage();
