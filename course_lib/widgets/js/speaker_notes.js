// A button that opens the notes of the widget on the page in a second window, away from the projector.

let second = null; // the window, which stays open while other widgets are shown

function add(parent, tag, text, style = "") {
  const element = parent.ownerDocument.createElement(tag);
  element.textContent = text;
  element.style.cssText = style;
  parent.append(element);
}

function write(model) {
  const {body} = second.document;
  second.document.title = `Notes: ${model.get("title")}`;
  body.style.cssText = "font: 22px/1.4 system-ui, sans-serif; margin: 1em; color: #111; background: #fff";
  body.replaceChildren();
  add(body, "h1", model.get("title"), "font-size: 1.2em; margin: 0");
  for (const [name, text] of Object.entries(model.get("notes"))) {
    add(body, "h2", name, "font-size: 0.8em; margin: 1em 0 0; color: #555");
    add(body, "p", text, "margin: 0");
  }
}

function render({model, el}) {
  const button = document.createElement("button");
  button.textContent = "Notes";
  button.title = "Opens the notes for the instructor in a second window";
  button.className = "jupyter-button widget-button course-notes-button";
  const isOpen = () => second && !second.closed;
  button.onclick = () => {
    if (!isOpen()) second = window.open("", "course-notes", "popup,width=700,height=520");
    if (second) write(model); // a browser may block it
    second?.focus();
  };
  const follow = () => isOpen() && write(model);
  model.on("change:notes", follow);
  el.append(button);
  return () => model.off("change:notes", follow);
}

export default {render};
