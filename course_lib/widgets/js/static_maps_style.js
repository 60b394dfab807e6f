// Look of attention maps on a page without a kernel. Colors come from the page's theme.

const MAPS_STYLE = `
.static-maps { font: 14px/1.4 system-ui, sans-serif; margin: 0.6em 0; }
.static-maps-controls { display: flex; flex-wrap: wrap; gap: 0.3em 1.4em; margin-bottom: 0.7em; }
.static-maps-controls > *, .static-maps-controls label { display: flex; align-items: center; gap: 0.5em; margin: 0; min-width: 0; }
.static-maps-controls select { font: inherit; max-width: min(36em, 70vw); min-width: 0; }
.static-maps-controls input { width: 9em; }
.static-maps-controls output { min-width: 2em; }
.static-maps-words { min-height: 4.2em; margin-top: 0.5em; overflow-x: auto; }
.static-maps-words table { margin-left: 0; }
.static-maps-words caption { color: inherit; }
.static-maps-note { margin: 0.3em 0 0; font-style: italic; }
.static-maps .attention-map::after { content: ""; grid-area: 5 / 1; height: 1.6em; }
.static-maps .attention-map-words.of-cell { position: static; grid-area: 5 / 1 / 6 / -1; width: auto; height: auto;
  clip-path: none; white-space: normal; padding-top: 3px; }
.static-maps .attention-map-title { overflow-wrap: anywhere; }
@media (max-width: 600px) {
  .static-maps .attention-map-tip { white-space: normal; width: max-content; max-width: 85vw; }
}
`;

/** Put the style sheet into the document. */
export function addMapsStyle() {
  const sheet = document.createElement("style");
  sheet.textContent = MAPS_STYLE;
  document.head.append(sheet);
}
