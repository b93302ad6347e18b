"use strict";

// Amounts are formatted for the locale with all of their digits; none becomes a binary float.
const whole = new Intl.NumberFormat(undefined, { numberingSystem: "latn" });
const point = whole.formatToParts(1.5).find((part) => part.type === "decimal").value;

function local(text) {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (!match) return text;
  const [, sign, digits, fraction] = match;
  return sign + whole.format(BigInt(digits)) + (fraction ? point + fraction : "");
}

function show(data, text) {
  data.value = text;
  data.textContent = local(text);
}

// All amounts of a column have the same number of digits after the point.
function amount(cell) {
  const text = cell.dataset.sort ?? cell.querySelector("data")?.value;
  return text === undefined ? null : BigInt(text.replace(".", ""));
}

function words(cell) {
  return cell.querySelector(".none") ? null : cell.textContent;
}

function compare(one, other, direction) {
  if (one === null || other === null) return (one === null) - (other === null); // missing values are last
  if (typeof one === "string") return direction * one.localeCompare(other, undefined, { numeric: true });
  return direction * ((one > other) - (one < other));
}

function sort(table, heading) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const read = heading.dataset.kind === "number" ? amount : words;
  const groups = [...table.tBodies].map((body) => [read(body.rows[0].cells[heading.cellIndex]), body]);
  groups.sort(([one], [other]) => compare(one, other, down ? -1 : 1));
  table.append(...groups.map(([, body]) => body));
}

function filter(section, table) {
  const search = section.querySelector(".search").value.trim().toLowerCase();
  const classes = new Set([...section.querySelectorAll("input:checked")].map((box) => box.value));
  let shown = 0;
  for (const body of table.tBodies) {
    const keys = [...body.rows[0].querySelectorAll(".key")].map((cell) => cell.textContent.toLowerCase());
    body.hidden = !classes.has(body.dataset.status) || !keys.some((key) => key.includes(search));
    shown += !body.hidden;
  }
  show(section.querySelector(".shown"), String(shown));
}

function drill(button) {
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  document.getElementById(button.getAttribute("aria-controls")).hidden = open;
}

for (const data of document.querySelectorAll("data.n")) show(data, data.value);
for (const section of document.querySelectorAll(".comparison")) {
  const table = section.querySelector("table.groups");
  if (!table) continue;
  for (const heading of table.querySelectorAll(".sorters th[data-kind]")) {
    heading.querySelector("button").addEventListener("click", () => sort(table, heading));
  }
  for (const button of table.querySelectorAll(".drill")) {
    button.addEventListener("click", () => drill(button));
  }
  section.querySelector(".filters").addEventListener("input", () => filter(section, table));
}
