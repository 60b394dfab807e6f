// Colors of the cells of a map, on a light and on a dark page.

const LIGHT = {
  sequential: ["#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"],
  diverging: ["#b35806", "#fdb863", "#f7f7f7", "#b2abd2", "#542788"],
  masked: "#595959",
};
const DARK = {
  sequential: ["#10161d", "#143d66", "#2171b5", "#6baed6", "#deebf7"],
  diverging: ["#fdb863", "#a35507", "#222428", "#6a4c9c", "#c5bde6"],
  masked: "#8a8a8a",
};

/** The colors that fit the page: a page with light text is dark, whatever set its theme. */
export function colorsOf(element) {
  const text = getComputedStyle(element).color.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0];
  return luminance(text) > 0.4 ? DARK : LIGHT;
}

/** Whether these are the colors of a dark page. */
export function isDark(colors) {
  return colors === DARK;
}

/** The color [red, green, blue] at `fraction` (0 to 1) of a scale of evenly spaced hex colors. */
export function colorAt(scale, fraction) {
  const place = Math.min(1, Math.max(0, fraction)) * (scale.length - 1);
  const i = Math.min(Math.floor(place), scale.length - 2);
  const [from, to] = [parse(scale[i]), parse(scale[i + 1])];
  return from.map((value, channel) => Math.round(value + (place - i) * (to[channel] - value)));
}

const parsed = new Map(); // a picture asks for the same few colors tens of thousands of times

/** "#1a2b3c" as [red, green, blue]. */
export function parse(hex) {
  if (!parsed.has(hex)) parsed.set(hex, [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16)));
  return parsed.get(hex);
}

/** Black or white, whichever stands out more from the color behind it. */
export function inkOn(color) {
  return luminance(color) > 0.18 ? "#000" : "#fff";
}

/** Relative luminance, 0 (black) to 1 (white); the exponent approximates the sRGB curve. */
function luminance([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((value) => (value / 255) ** 2.2);
  return 0.21 * r + 0.72 * g + 0.07 * b;
}

/** Call back when the page's theme may have changed; returns the function that stops this. */
export function onThemeChange(callback) {
  const watcher = new MutationObserver(callback);
  const attributes = true;
  watcher.observe(document.documentElement, {attributes});
  watcher.observe(document.body, {attributes});
  const preference = matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", callback);
  return () => {
    watcher.disconnect();
    preference.removeEventListener("change", callback);
  };
}
