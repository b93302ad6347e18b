// Numbers and times in the reader's locale: the page formats them only here.
// A number arrives as text, and so keeps all of its digits.
(() => {
  const DECIMAL = /^-?\d+(\.\d+)?$/;
  const formats = new Map(); // to make one takes longer than to use it a hundred times
  const format = (value, options, kind = Intl.NumberFormat) => {
    const name = JSON.stringify(options);
    if (!formats.has(name)) formats.set(name, new kind(navigator.language, options));
    return formats.get(name).format(value);
  };
  const exact = (value, signed = false) => {
    if (value === null || value === undefined) return "–";
    if (!DECIMAL.test(value)) return String(value);
    const digits = Math.min((String(value).split(".")[1] || "").length, 100);
    return format(value, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      signDisplay: signed ? "exceptZero" : "auto",
    });
  };
  const short = (value, signed = false) =>
    format(value, {
      notation: Math.abs(value) < 1e15 ? "compact" : "scientific", // compact forms end at trillions
      maximumSignificantDigits: 3,
      signDisplay: signed ? "exceptZero" : "auto",
    });
  const label = (value, signed = false) => {
    const whole = exact(value, signed);
    return whole.length <= 20 ? whole : short(value, signed);
  };
  const percent = (value) => `${format(value, { maximumFractionDigits: 4 })} %`;
  const time = (value) =>
    format(new Date(value), {
      year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
    }, Intl.DateTimeFormat);
  const tick = (value) =>
    [{ month: "short", day: "numeric" }, { hour: "2-digit", minute: "2-digit" }]
      .map((options) => format(new Date(value), options, Intl.DateTimeFormat))
      .join("\n");
  // The plain forms of a number as a reader writes it: plainly, or as it is shown here.
  const numbers = (text) => {
    const spaced = (part) => part.replace(/\s/g, " "); // some languages group by other blanks
    const parts = new Intl.NumberFormat(navigator.language).formatToParts(-12345.6);
    const sign = Object.fromEntries(parts.map(({ type, value }) => [type, spaced(value)]));
    const shown = spaced(text.trim());
    const ungrouped = (each) => each.replaceAll(sign.group, "");
    const plain = ungrouped(shown).replace(sign.decimal, ".").replace(sign.minusSign, "-").replace(/^\+/, "");
    const forms = DECIMAL.test(plain) ? [exact(plain), exact(plain, true)].map(spaced) : [];
    const isShown = [...forms, ...forms.map(ungrouped)].includes(shown);
    return [...new Set([...(DECIMAL.test(shown) ? [shown] : []), ...(isShown ? [plain] : [])])];
  };
  // The number of a filter; other texts as they are. Throws an error if it can be two numbers.
  const typed = (text) => {
    const [number = text.trim(), other] = numbers(text);
    if (other) throw new Error(`${number} can be ${other} or ${exact(number)}: write one of these`);
    return number;
  };
  const INVISIBLE = /[\p{Cf}\p{Cc}\u00a0\u2000-\u200a\u2028\u2029\u202f\u3000]/u;
  const ESCAPE = /^\\u[0-9a-f]{4}/;
  const code = (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, "0")}`;
  // The characters of a text as they are shown. Invisible ones are spelled out, and so is a backslash
  // that would seem to spell one.
  const spelled = (signs) =>
    signs.map((sign, index) => {
      if (sign === "\\" && ESCAPE.test(signs.slice(index, index + 6).join(""))) return "\\\\";
      return INVISIBLE.test(sign) ? code(sign) : sign;
    });
  const nothing = (value) => (value === undefined ? "" : value === null ? "NULL" : "empty");
  const has = (value) => value !== undefined && value !== null && value !== "";
  // A value as a text; undefined is nothing at all.
  const shown = (value) => (has(value) ? spelled([...String(value)]).join("") : nothing(value));
  // The reverse for a text that a reader copies or types.
  const read = (text) =>
    text.replace(/\\(\\u[0-9a-f]{4})|\\u([0-9a-f]{4})/g, (found, escape, hex) => {
      const sign = hex && String.fromCodePoint(parseInt(hex, 16));
      return escape ?? (INVISIBLE.test(sign) ? sign : found);
    });
  const LONG = 40;
  const BEFORE = 12;
  // A text whose characters that are not in the other one are marked, blanks and invisible ones too. Of
  // a long one, its beginning is left out if the other one has it too.
  const marked = (own, other) => {
    const cell = document.createElement("span");
    if (!has(own) || typeof other !== "string") {
      if (!has(own)) cell.className = "no-value";
      cell.textContent = shown(own);
      return cell;
    }
    const text = [...String(own)];
    const rest = [...other];
    const signs = spelled(text);
    let start = 0;
    while (start < text.length && start < rest.length && text[start] === rest[start]) start++;
    let end = 0;
    const most = Math.min(text.length, rest.length) - start;
    while (end < most && text[text.length - 1 - end] === rest[rest.length - 1 - end]) end++;
    const first = text.length > LONG && start > 2 * BEFORE ? start - BEFORE : 0;
    const mark = document.createElement("mark");
    mark.textContent = signs
      .slice(start, text.length - end)
      .map((sign) => (sign === " " ? "·" : sign === "·" ? code(sign) : sign))
      .join("");
    cell.append(
      (first ? "…" : "") + signs.slice(first, start).join(""),
      ...(mark.textContent ? [mark] : []),
      signs.slice(text.length - end).join(""),
    );
    return cell;
  };
  window.skillian = { exact, short, label, percent, time, tick, numbers, typed, shown, read, marked };

  class Shown extends HTMLElement {
    static observedAttributes = ["value", "unit", "signed"];
    connectedCallback() { this.show(); }
    attributeChangedCallback() { if (this.isConnected) this.show(); }
    part(text, name) {
      const span = document.createElement("span");
      span.textContent = text;
      if (name) span.className = name;
      return span;
    }
  }
  // <exact-number value="-1.50" unit="EUR" signed>
  customElements.define("exact-number", class extends Shown {
    show() {
      const [value, unit, signed] = ["value", "unit", "signed"].map((name) => this.getAttribute(name));
      const number = exact(value, signed !== null && signed !== "false");
      const parts = [this.part(unit === "%" ? `${number} %` : number)];
      if (unit && unit !== "%") parts.push(this.part(unit, "unit"));
      this.replaceChildren(...parts);
    }
  });
  // <local-time value="2024-05-01T12:00:00+00:00">
  customElements.define("local-time", class extends Shown {
    show() { this.replaceChildren(this.part(time(this.getAttribute("value")))); }
  });
})();
