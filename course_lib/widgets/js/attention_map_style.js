// Look of an attention map. All colors but those of the cells come from the page's theme.

const STYLE = `
.attention-map { --map-sheet: #f2f2f2; --map-sheet-edge: #888; color: var(--jp-content-font-color1, var(--colab-primary-text-color, inherit));
  font: 13px/1.25 var(--jp-ui-font-family, system-ui, sans-serif); position: relative; display: grid;
  grid-template-columns: max-content max-content minmax(0, 1fr); justify-items: start; width: 100%; }
.attention-map.dark { --map-sheet: #333; }
.course-projected .attention-map, .course-projected .attention-map * {
  font-size: calc(0.85 * var(--course-letters, 24px)); }
.attention-map-title { grid-area: 1 / 3; max-width: 100%; font-weight: 600; padding-bottom: 3px; }
.attention-map.narrow .attention-map-title { grid-column: 1 / -1; }
.attention-map-row-name { grid-area: 2 / 1; align-self: center; writing-mode: vertical-rl; rotate: 180deg;
  padding-left: 9px; text-align: center; }
.attention-map-column-name { grid-area: 4 / 3; justify-self: start; text-align: center; }
.attention-map-rows { grid-area: 2 / 2; display: grid; justify-items: end; align-items: center; }
.attention-map-columns { grid-area: 3 / 3; display: grid; justify-items: center; align-items: start; }
.attention-map-rows, .attention-map-columns { cursor: pointer; user-select: none; }
.attention-map-rows span, .attention-map-columns span { white-space: pre; overflow: hidden;
  text-overflow: ellipsis; }
.attention-map-rows span { max-width: 6.5em; padding-right: 5px; }
.attention-map-columns span { max-width: 100%; padding-top: 4px; }
.attention-map-columns.upright span { writing-mode: vertical-rl; rotate: 180deg; max-width: none;
  max-height: 6.5em; padding: 0 0 4px; }
.attention-map-rows span.chosen, .attention-map-columns span.chosen { font-weight: 700; }
.attention-map-cells { grid-area: 2 / 3; position: relative; cursor: pointer; outline: 1px solid #8888;
  touch-action: manipulation; user-select: none; }
.attention-map-cells:focus-visible { outline: 3px solid #0b62c4; outline-offset: 2px; }
.attention-map.dark .attention-map-cells:focus-visible { outline-color: #8cc4ff; }
.attention-map-cells canvas { width: 100%; height: 100%; display: block; image-rendering: pixelated; }
.attention-map-numbers { position: absolute; inset: 0; display: grid; pointer-events: none; }
.attention-map-numbers span { place-self: center; white-space: pre; text-align: center; }
.attention-map-numbers.on-picture span { place-self: end center; color: #000; background: #fff; }
.attention-map.dark .attention-map-numbers.on-picture span { color: #fff; background: #212121; }
.attention-map-frame, .attention-map-cell { position: absolute; box-sizing: border-box;
  pointer-events: none; outline: 2px solid #c44601; }
.attention-map-cell { outline-width: 3px; }
.attention-map.dark .attention-map-frame, .attention-map.dark .attention-map-cell { outline-color: #ffa657; }
.attention-map-tip { position: absolute; z-index: 2; pointer-events: none; white-space: pre; padding: 2px 7px;
  border-radius: 3px; color: #fff; background: #222; border: 1px solid #999; }
.attention-map [hidden] { display: none; }
.attention-map-words { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
`;

/** Put the style sheet into the document (or shadow root) of this element, once. */
export function addStyle(element) {
  const root = element.getRootNode();
  const home = root instanceof ShadowRoot ? root : document.head;
  if (home.querySelector("style[data-attention-map]")) return;
  const sheet = document.createElement("style");
  sheet.dataset.attentionMap = "";
  sheet.textContent = STYLE;
  home.append(sheet);
}
