"use strict";
// Tables that sort by their columns, and links that unfold what they lead to. The page is whole without this script.
(() => {
  const order = new Intl.Collator("en", { numeric: true }).compare;
  // What a cell sorts by: its number, else its text. Of a value with its difference, the difference.
  const key = (cell, isNumber) => {
    if (!cell) return null;
    const text = cell.textContent.trim();
    if (!isNumber) return text;
    // Signs stand before numbers, units behind.
    const value = Number.parseFloat((cell.querySelector("i")?.textContent ?? text).replace(/^[^\d+-]+/, ""));
    return Number.isNaN(value) ? null : value;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : order(a, b));

  const sort = (table, column, head) => {
    const isNumber = head.classList.contains("number");
    // Numbers begin with the largest, differences with the least.
    const isUp = head.hasAttribute("aria-sort")
      ? head.getAttribute("aria-sort") === "descending"
      : !isNumber || head.classList.contains("difference");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row.cells[column], isNumber), row]);
    // What has no value comes last, whatever the order.
    const by = ([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : (isUp ? 1 : -1) * compare(a, b));
    body.append(...rows.sort(by).map(([, row]) => row));
    for (const one of head.parentElement.cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
  };

  for (const table of document.querySelectorAll("table.sorts")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = Object.assign(document.createElement("button"), { type: "button" });
      const name = head.querySelector("span");
      name.replaceWith(button);
      button.append(name);
      button.addEventListener("click", () => sort(table, column, head));
    });
  }

  const unfold = (hash) => {
    const part = document.getElementById(hash.slice(1));
    if (part instanceof HTMLDetailsElement) part.open = true;
  };
  addEventListener("click", ({ target }) => unfold(target.closest("a[href^='#']")?.hash ?? ""));
  unfold(location.hash);
})();
