// The distribution of the next token, under the sampling settings, and the token that is chosen.

import {chapterLinks, h, number, percent, thousands, tokenText} from "./drawing.js";
import {nextTokenProbabilities, row} from "./trace.js";

/** The most likely tokens as bars. pick: whether a click on one chooses it. */
export function barList(app, most, pick) {
  const {trace, step} = app;
  const {probabilities} = app.distribution();
  const logits = row(trace.logits, step);
  const chosen = trace.chosen_ids[step];
  const bars = trace.candidates[step].slice(0, most).map((candidate, i) => {
    const p = probabilities[i];
    const text = tokenText(candidate.token, trace);
    const attributes = {
      class: `mx-bar${candidate.id === chosen ? " mx-chosen" : ""}${p === 0 ? " mx-cut" : ""}`,
      title: i === 0 ? "the largest logit" : `logit ${number(-logits[i])} below the largest`,
    };
    const parts = [h("span", {class: "mx-bar-token"}, text),
      h("span", {class: "mx-bar-track"}, h("span", {class: "mx-bar-fill", style: `width: ${100 * p}%`})),
      h("span", {class: "mx-bar-number"}, p === 0 && pick ? "cut off" : percent(p))];
    if (!pick || !app.live) return h("span", attributes, parts);
    return h("button", {...attributes, type: "button", "data-key": `pick-${i}`,
      "aria-label": `Choose ${text}, ${percent(p)}`, onclick: () => app.write(candidate.id)}, parts);
  });
  return h("span", {class: "mx-bars"}, bars);
}

/** The open panel: three sliders, the bars, and what they mean. */
export function nextTokenPanel(app) {
  const {trace} = app;
  const bars = h("div", {class: "mx-next-bars"});
  const fill = () => bars.replaceChildren(barList(app, 10, true), inAll(app), actions(app));
  const set = (name, value) => {
    app.sample({[name]: value});
    fill();
  };
  const sliders = [
    slider(app, "Temperature", "temperature", [0, 2, 0.1], (v) => number(v, 1), set),
    slider(app, "Top-k", "topK", [0, 50, 1], (v) => (v ? String(v) : "off"), set),
    slider(app, "Top-p", "topP", [0.05, 1, 0.05], (v) => (v < 1 ? number(v) : "off"), set),
  ];
  fill();
  app.onDistribution = fill;
  return h("div", {class: "mx-next"},
    h("div", {class: "mx-sliders"},
      h("p", {}, `The last hidden state gives one logit for each of the ${thousands(trace.sizes.vocab)} tokens of the ` +
        "vocabulary. Softmax of logits ÷ temperature gives probabilities; top-k and top-p cut off the tail."),
      sliders,
      chapterLinks(app, "next")),
    bars);
}

function slider(app, label, setting, [min, max, step], show, set) {
  const readout = h("output", {}, show(app.settings[setting]));
  const input = h("input", {
    type: "range", min, max, step, value: app.settings[setting], "data-key": setting, "aria-label": label,
    "aria-valuetext": show(app.settings[setting]),
    oninput: (event) => {
      const value = Math.round(100 * Number(event.target.value)) / 100;
      readout.textContent = show(value);
      event.target.setAttribute("aria-valuetext", show(value));
      set(setting, value);
    },
  });
  return h("label", {class: "mx-slider"}, h("span", {}, label), input, readout);
}

function inAll(app) {
  const {kept} = app.distribution();
  const {vocab} = app.trace.sizes;
  const left = kept === null ? `More than ${row(app.trace.logits, 0).length} tokens` : `${thousands(kept)} of ${thousands(vocab)} tokens`;
  return h("p", {}, `${left} can be sampled.`);
}

function actions(app) {
  const written = tokenText(app.trace.chosen[app.step], app.trace);
  const note = `Chosen here: “${written}”.`;
  if (!app.live) return h("p", {}, `${note} In a notebook, you can choose another token instead.`);
  return h("p", {}, `${note} Click a token to choose it instead, or `,
    h("button", {type: "button", class: "mx-button", "data-key": "draw", onclick: () => app.draw()},
      "sample one"));
}
