// Names for what ipywidgets leaves without one, and its dark look. See layout.py.

import {colorsOf, isDark, onThemeChange} from "./colors.js";
import {keepKeys} from "./keys.js";

const HANDLES = ".noUi-handle, .ui-slider-handle";

function setAttribute(element, name, value) {
  if (element && value && element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function textOf(element) {
  return (element?.textContent ?? "").replaceAll("\u200b", "").trim();
}

/** Give each slider's handle its label as a name, and the value that is written beside it. */
function nameSliders(root) {
  for (const handle of root.querySelectorAll(HANDLES)) {
    const row = handle.closest(".widget-inline-hbox");
    if (!row) continue;
    const value = textOf(row.querySelector(".widget-readout"));
    setAttribute(handle, "aria-label", textOf(row.querySelector(".widget-label")));
    setAttribute(handle, "aria-valuetext", value);
    if (handle.matches(".ui-slider-handle")) { // ipywidgets 7 says nothing at all about its handles
      setAttribute(handle, "role", "slider");
      setAttribute(handle, "aria-valuenow", String(parseFloat(value) || 0));
    }
  }
}

/** Give each group of buttons its label as a name, and each button its state. */
function nameButtons(root) {
  for (const group of root.querySelectorAll(".widget-toggle-buttons")) {
    setAttribute(group, "role", "group");
    setAttribute(group, "aria-label", textOf(group.querySelector(".widget-label")));
    for (const button of group.querySelectorAll("button")) {
      setAttribute(button, "aria-pressed", String(button.classList.contains("mod-active")));
    }
  }
}

/** Give each picture the line of text below it, which says what is seen. */
function namePictures(root) {
  const line = textOf(root.querySelector('[role="status"]'));
  for (const image of root.querySelectorAll("img")) {
    if (image.matches(".course-photos")) image.alt = ""; // a part of the picture below it
    else setAttribute(image, "alt", line);
  }
}

function follow(root) {
  const update = () => {
    nameSliders(root);
    nameButtons(root);
    namePictures(root);
  };
  const observer = new MutationObserver(update);
  observer.observe(root, {
    subtree: true, childList: true, characterData: true,
    attributes: true, attributeFilter: ["aria-valuetext", "class", "src"],
  });
  update();
  const recolor = () => root.classList.toggle("course-dark", isDark(colorsOf(root)));
  recolor();
  const stopTheme = onThemeChange(recolor);
  const freeKeys = keepKeys(root);
  return () => {
    observer.disconnect();
    stopTheme();
    freeKeys();
  };
}

function render({ el }) {
  let unfollow;
  // The views of a box are put into the page one after the other: wait until this one is there.
  const waiting = setInterval(() => {
    const root = el.isConnected && el.closest(".course-explorer, .course-gallery");
    if (!root) return;
    clearInterval(waiting);
    unfollow = follow(root);
  }, 50);
  return () => {
    clearInterval(waiting);
    unfollow?.();
  };
}

export default { render };
