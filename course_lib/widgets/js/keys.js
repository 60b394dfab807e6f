// Keys pressed in a widget inside JupyterLab.

const SUPPRESSED = "data-lm-suppress-shortcuts"; // JupyterLab looks for it on the element that has the focus
const EDITING = "acvxyz"; // with Ctrl or Cmd, these belong to a text field

/** Whether a key is meant for JupyterLab, like Ctrl+S, and not for the control that has the focus. */
function isForPage({ctrlKey, metaKey, key, target}) {
  const isText = target.matches('input:not([type="checkbox"], [type="range"]), textarea, [contenteditable="true"]');
  return (ctrlKey || metaKey) && !(isText && EDITING.includes(key.toLowerCase()));
}

/**
 * Keep keys without Ctrl or Cmd from JupyterLab, where `x` would cut the cell; returns what ends that.
 *
 * JupyterLab reads keys at the document: older versions on the way down, where only the attribute stops them,
 * newer ones on the way up.
 */
export function keepKeys(root) {
  const mark = (event) => {
    if (root.contains(event.target)) event.target.toggleAttribute(SUPPRESSED, !isForPage(event));
  };
  const stop = (event) => isForPage(event) || event.stopPropagation();
  window.addEventListener("keydown", mark, true);
  root.addEventListener("keydown", stop);
  return () => {
    window.removeEventListener("keydown", mark, true);
    root.removeEventListener("keydown", stop);
  };
}
