// Keys outside fields: / searches, j and k go through the rows of the grid, ? says so.
(() => {
  const KEYS = [
    ["/", "search the rows"],
    ["j", "next row"],
    ["k", "previous row"],
    ["Enter", "open the row, where it can be opened"],
    ["← →", "previous and next tab, on a tab"],
    ["?", "this list"],
  ];
  const is_shown = (element) => element.checkVisibility();
  const first = (selector) => [...document.querySelectorAll(selector)].find(is_shown);

  const show = () => {
    const dialog = document.createElement("dialog");
    dialog.className = "keys";
    const title = document.createElement("h2");
    title.textContent = "Keys";
    title.id = "keys-title";
    dialog.setAttribute("aria-labelledby", title.id);
    const list = document.createElement("dl");
    for (const [key, meaning] of KEYS) {
      const name = document.createElement("dt");
      const cap = document.createElement("kbd");
      cap.textContent = key;
      name.append(cap);
      const said = document.createElement("dd");
      said.textContent = meaning;
      list.append(name, said);
    }
    const close = document.createElement("button");
    close.textContent = "Close";
    close.className = "plain-button";
    close.autofocus = true;
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    dialog.append(title, list, close);
    document.body.append(dialog);
    dialog.showModal();
  };

  // The cell that has the focus, one row further; the first one without a focus.
  const move = (step) => {
    const grid = first(".comparison-grid");
    const api = grid && window.getElement(Number(grid.id.slice(1)))?.api;
    if (!api) return false;
    const at = api.getFocusedCell();
    const row = at ? at.rowIndex + step : 0;
    if (row < 0 || row >= api.getDisplayedRowCount()) return true;
    const column = at?.column ?? api.getAllDisplayedColumns()[0];
    grid.scrollIntoView({ block: "nearest" });
    api.ensureIndexVisible(row);
    api.setFocusedCell(row, column);
    return true;
  };

  const search = () => {
    const field = first("input[type=search]");
    field?.focus();
    return Boolean(field);
  };

  const ACTIONS = { "/": search, j: () => move(1), k: () => move(-1), "?": () => (show(), true) };
  window.skillianKeys = show;
  document.addEventListener("keydown", (event) => {
    const is_typing = event.target.closest?.("input, textarea, select, [contenteditable=true], dialog, .q-dialog");
    if (is_typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (ACTIONS[event.key]?.()) event.preventDefault();
  });
})();
