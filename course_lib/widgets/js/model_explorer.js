// The model explorer: a sentence through a whole Transformer. It draws a trace; the models run elsewhere.
//
//   const explorer = modelExplorer(element, host);
//   explorer.show(header, dataView);
//
// host: {live(mode), pause, examples, tour, address(notebook), open({mode, sentence, prefix}), draw(step, settings),
// sample(settings), block(stack, index)}. In a `live` mode, a model answers `open` with another `show` and `draw` with a
// sampled token; a kernel also answers `sample` with `sampled`, and `block`, for a model whose trace is large, with
// `showBlock`. pause: milliseconds after the last letter typed until the model reads the text; without it, Enter asks.

import {onThemeChange} from "./colors.js";
import {chapterLink, h, tokenText, useTheme} from "./drawing.js";
import {blockPanel, embeddingsPanel} from "./block_view.js";
import {headPanel} from "./head_view.js";
import {keepKeys} from "./keys.js";
import {flow} from "./motion.js";
import {barList, nextTokenPanel} from "./next_token.js";
import {overview} from "./overview.js";
import {Tour} from "./tour.js";
import {nextTokenProbabilities, readTrace, tokensRead} from "./trace.js";

const MODES = {translator: "Translator", gpt: "Language model (GPT)"};
const PLAYED = 900; // milliseconds per step
const DESIGNED = [1280, 680]; // pixels: the window that the explorer fills at its own size
const MARGIN = 10; // pixels below it
const SMALLER = 10; // steps of 5 percent at most, where it would not fit

class App {
  constructor(element, host) {
    Object.assign(this, {
      element, host, trace: null, opened: null, head: null, enlarged: false, step: 0, query: {}, key: null,
    });
    this.settings = {temperature: 1, topK: 0, topP: 1};
    this.answer = null; // the kernel's probabilities: {step, settings, probabilities, kept}
    this.onDistribution = null;
    this.hooks = {after: [], before: []};
    this.timer = null;
    this.typing = null;
    this.main = h("div", {class: "mx-main"});
    this.steps = h("span", {class: "mx-steps"});
    this.message = h("p", {class: "mx-message", role: "status"});
    this.toolbar = h("form", {class: "mx-toolbar", onsubmit: (event) => this.submit(event)});
    this.field = h("input", {type: "text", "aria-label": "Your sentence", maxlength: 300, "data-key": "typed",
      oninput: (event) => this.typed(event), oncompositionend: (event) => this.typed(event)});
    this.examples = h("select", {"aria-label": "Example sentences", "data-key": "examples",
      onchange: (event) => this.open({sentence: event.target.value})});
    element.classList.add("mx");
    this.freeKeys = keepKeys(element);
    this.tour = new Tour(this, host.tour);
    element.append(this.toolbar, this.message, this.tour.bar, this.main);
  }

  /** Whether a model answers, and does not only replay what was recorded. */
  get live() {
    return this.host.live(this.mode);
  }

  get read() {
    return tokensRead(this.trace, this.step);
  }

  /** The selected token of a stack: the second one in the encoder, else the newest, unless another is selected. */
  queryOf(stack) {
    const most = (stack === "encoder" ? this.trace.source.length : this.read) - 1;
    return Math.min(this.query[stack] ?? (stack === "encoder" ? 1 : most), most);
  }

  // ---- what a reader does

  toggle(place) {
    this.opened = this.opened?.key === place.key ? null : place;
    this.head = null;
    this.key = null;
    this.render({moving: true});
  }

  /** Open a part: {opened, head}. */
  visit(place) {
    this.stop();
    Object.assign(this, place, {key: null});
    this.render({moving: true});
  }

  openHead(layer, head) {
    this.head = {layer, head};
    this.render({moving: true});
  }

  /** The map of a head alone, large and with its numbers; or beside its arithmetic again. */
  enlarge() {
    this.enlarged = !this.enlarged;
    this.render();
  }

  select({query, key}) {
    if (query !== undefined) this.query[this.opened.stack] = query;
    if (query !== undefined && key === undefined) this.key = null;
    if (key !== undefined) this.key = key;
    this.render();
  }

  goTo(step) {
    this.step = Math.max(0, Math.min(this.trace.chosen.length - 1, step));
    this.query = {encoder: this.query.encoder};
    this.key = null;
    this.host.sample({step: this.step, ...this.settings});
    this.render({moving: true});
  }

  play() {
    const playing = this.timer !== null;
    this.stop();
    if (!playing) {
      if (this.step === this.trace.chosen.length - 1) this.goTo(0);
      this.timer = setInterval(() => this.advance(), PLAYED);
    }
    this.render();
  }

  advance() {
    if (!this.element.isConnected || this.step >= this.trace.chosen.length - 1) this.stop();
    else this.step += 1;
    this.goTo(this.step);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
  }

  sample(change) {
    Object.assign(this.settings, change);
    this.host.sample({step: this.step, ...this.settings});
    this.main.querySelector('[data-key="next"] .mx-bars')?.replaceWith(barList(this, 8, false));
  }

  /** Write this token at the present step, and let the model go on from there. */
  write(id) {
    this.open({prefix: [...this.trace.chosen_ids.slice(0, this.step), id]});
  }

  draw() {
    this.message.textContent = "Sampling …";
    this.host.draw(this.step, this.settings);
  }

  open(change) {
    this.stop();
    clearTimeout(this.typing);
    const {mode, sentence} = this;
    if (!this.host.pause) this.message.textContent = "The model is running …";
    this.host.open({mode, sentence, prefix: [], ...change});
  }

  submit(event) {
    event.preventDefault();
    if (this.live) this.open({sentence: this.field.value});
  }

  /** After a letter: the model reads the text once no other follows. Half of an accent is no text yet. */
  typed(event) {
    clearTimeout(this.typing);
    if (!this.host.pause || event.isComposing) return;
    this.typing = setTimeout(() => this.open({sentence: this.field.value}), this.host.pause);
  }

  // ---- what is shown

  /** The probabilities of the next token: the kernel's, once it has answered. */
  distribution() {
    const {answer, settings, step} = this;
    const same = answer && answer.step === step &&
      Object.keys(settings).every((name) => answer[name] === settings[name]);
    return same ? answer : nextTokenProbabilities(this.trace, step, settings);
  }

  sampled(answer) {
    this.answer = answer;
    if (this.opened?.kind === "next" && !this.head) this.onDistribution?.();
  }

  show(header, bytes, {mode, sentence, step}) {
    const same = this.mode === mode;
    const trace = {...readTrace(header, bytes), answer: header.answer};
    Object.assign(this, {mode, sentence, trace, answer: null, key: null});
    if (!same) Object.assign(this, {opened: null, head: null, query: {}});
    this.step = Math.max(0, Math.min(this.trace.chosen.length - 1, step));
    this.message.textContent = "";
    this.fillToolbar();
    this.render();
  }

  /** All about one block of the trace that is shown. */
  showBlock({block, stack, index, answer}, bytes) {
    if (!this.trace || answer !== this.trace.answer) return;
    Object.assign(this.trace[stack][index], readTrace(block, bytes));
    this.render({moving: true});
  }

  fail(text) {
    this.message.textContent = text;
  }

  /** While a text is typed, its field stays in place: it keeps the keyboard and its letters. */
  fillToolbar() {
    const {host, mode, sentence, field} = this;
    const examples = host.examples[mode];
    const options = examples.map((one) => h("option", {value: one, selected: one === sentence}, one));
    if (!examples.includes(sentence)) options.unshift(h("option", {selected: true}, "Examples"));
    this.examples.replaceChildren(...options);
    const ahead = host.pause && field.matches(":focus"); // of the model
    if (!ahead) field.value = sentence;
    if (this.toolbar.dataset.mode === mode) return;
    this.toolbar.dataset.mode = mode;
    const known = Object.entries(MODES).filter(([name]) => host.examples[name]);
    const modes = known.length > 1 && known.map(([name, title]) => h("button", {
      type: "button", class: "mx-button", "aria-pressed": String(name === mode), "data-key": `mode-${name}`,
      onclick: () => name !== this.mode && this.open({mode: name, sentence: host.examples[name][0]}),
    }, title));
    const typed = this.live && [field,
      h("button", {class: "mx-button", "data-key": "submit"}, mode === "translator" ? "Translate" : "Continue")];
    this.toolbar.replaceChildren(...[modes && h("span", {class: "mx-modes"}, modes), ...(typed || []), this.examples,
      this.steps, this.tour.button].filter(Boolean));
  }

  /** Run after this drawing is on the page. */
  afterRender(action) {
    this.hooks.after.push(action);
  }

  /** Run before the next drawing replaces this one. */
  beforeRender(action) {
    this.hooks.before.push(action);
  }

  /** moving: whether the data is seen to flow to what is drawn. */
  render({moving = false} = {}) {
    useTheme(this.element);
    const focused = this.element.contains(document.activeElement) && document.activeElement.dataset.key;
    const inMap = document.activeElement?.className === "attention-map-cells";
    this.hooks.before.splice(0).forEach((action) => action());
    this.onDistribution = null;
    this.steps.replaceChildren(...this.moves());
    this.main.replaceChildren(this.written(), overview(this), ...(this.opened ? [this.panel()] : [this.hint()]));
    this.hooks.after.splice(0).forEach((action) => action());
    this.tour.mark();
    if (moving) requestAnimationFrame(() => flow(this)); // once the page has scrolled
    const again = inMap ? this.main.querySelector(".attention-map-cells")
      : focused && this.element.querySelector(`[data-key="${focused}"]`);
    if (!again) return;
    again.focus({preventScroll: true});
  }

  /** Buttons for the steps. */
  moves() {
    const {trace, step} = this;
    const last = trace.chosen.length - 1;
    const move = (name, sign, to) => h("button", {
      type: "button", class: "mx-button", "aria-label": name, "data-key": name, disabled: to < 0 || to > last,
      onclick: () => this.goTo(to),
    }, sign);
    return [move("Previous step", "‹", step - 1), h("span", {}, `Step ${step + 1} of ${last + 1}`),
      move("Next step", "›", step + 1),
      h("button", {type: "button", class: "mx-button", "data-key": "play", onclick: () => this.play()},
        this.timer === null ? "Play" : "Pause")];
  }

  /** The text so far, token by token. */
  written() {
    const {trace, step} = this;
    const prompt = trace.mode === "gpt" && trace.target.slice(0, trace.prompt).map((token) =>
      h("span", {class: "mx-given"}, tokenText(token, trace)));
    const tokens = trace.chosen.map((token, i) => h("button", {
      type: "button", "data-key": `step-${i}`, "aria-current": i === step ? "step" : null,
      class: i < step ? "mx-written" : i === step ? "mx-now" : "mx-later",
      "aria-label": `Step ${i + 1}: ${tokenText(token, trace)}`, onclick: () => this.goTo(i),
    }, i <= step ? tokenText(token, trace) : "·"));
    return h("div", {class: "mx-sentence"}, prompt, tokens);
  }

  hint() {
    const what = this.trace.mode === "translator"
      ? "The encoder reads the source sentence once. At each step, the decoder reads what it has written, " +
        "attends to the encoder’s output, and predicts the next token."
      : "At each step, the model reads the prompt and what it has written so far, and predicts the next token.";
    return h("p", {class: "mx-hint"}, `${what} Click a box to open it. `, chapterLink(this, this.mode));
  }

  panel() {
    const {opened, head, trace} = this;
    const views = {block: head ? headPanel : blockPanel, embeddings: embeddingsPanel, next: nextTokenPanel};
    const titles = {next: "Next token", embeddings: "Tokens and embeddings"};
    const title = titles[opened.kind] ?? trace[opened.stack][opened.index].name;
    const block = opened.kind === "block" ? trace[opened.stack][opened.index] : null;
    const missing = block && !block.hidden;
    if (missing && !block.asked) this.host.block(opened.stack, opened.index);
    if (missing) block.asked = true;
    return h("section", {class: "mx-panel", "aria-label": title}, this.crumbs(title),
      missing ? h("p", {}, "The numbers of this block are on their way …") : views[opened.kind](this));
  }

  /** Where in the model this is, with ways back up. */
  crumbs(title) {
    const {opened, head, trace} = this;
    const up = (words, key, onclick) => h("button", {type: "button", class: "mx-crumb", "data-key": key, onclick}, words);
    const path = [up("Whole model", "crumb-model", () => this.toggle(opened)), " › "];
    if (!head) return h("h4", {class: "mx-crumbs"}, path, title);
    const {name} = trace[opened.stack][opened.index].attentions[head.layer];
    const heads = Array.from({length: trace.sizes.heads}, (_, i) => h("button", {
      type: "button", class: "mx-button", "data-key": `switch-${i}`, "aria-pressed": String(i === head.head),
      onclick: () => this.openHead(head.layer, i),
    }, `Head ${i + 1}`));
    return h("h4", {class: "mx-crumbs"}, path, up(title, "crumb-block", () => this.closeHead()),
      ` › ${name} › `, heads, h("button", {
        type: "button", class: "mx-button", "data-key": "enlarge", "aria-pressed": String(this.enlarged),
        onclick: () => this.enlarge(),
      }, "Enlarge"));
  }

  closeHead() {
    this.head = null;
    this.render();
  }
}

/**
 * On a page that is as high as the window, as large as the window allows, with letters for a hall. The page never
 * scrolls: an open panel that is too tall does.
 */
function fit(element, place) {
  if (!getComputedStyle(place).getPropertyValue("--course-window")) return;
  element.classList.add("mx-large");
  const page = document.documentElement;
  const top = place.getBoundingClientRect().top;
  const room = page.clientHeight - page.scrollTop - top - MARGIN;
  let zoom = Math.min(page.clientWidth / DESIGNED[0], page.clientHeight / DESIGNED[1]);
  for (let i = 0; i <= SMALLER; i += 1, zoom *= 0.95) {
    element.style.zoom = zoom;
    const panel = element.querySelector(".mx-panel")?.getBoundingClientRect();
    if (panel) element.style.setProperty("--mx-room", `${Math.floor((room - (panel.top - top)) / zoom) - 2}px`);
    if (place.offsetHeight <= room) return;
  }
}

/** Build the explorer inside this element. */
export function modelExplorer(place, host) {
  const element = h("div");
  place.append(element);
  const app = new App(element, host);
  const recolor = () => app.trace && useTheme(element) && app.render();
  const resized = new ResizeObserver(() => {
    recolor(); // only on the page does the text have its color
    fit(element, place);
  });
  for (const part of [place, document.documentElement]) resized.observe(part);
  const stopTheme = onThemeChange(recolor);
  return {
    show: (header, bytes, state) => app.show(header, bytes, state),
    startTour: () => app.tour.start(),
    sampled: (answer) => app.sampled(answer),
    fail: (text) => app.fail(text),
    destroy() {
      app.stop();
      clearTimeout(app.typing);
      app.freeKeys();
      stopTheme();
      resized.disconnect();
      element.remove();
    },
  };
}
