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
  const INVISIBLE = /[\p{Cf}\p{Cc}\u00a0\u2000-\u200a\u2028\u2029\u202f\u3000]/gu;
  const code = (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, "0")}`;
  const spelled = (text) => text.replaceAll(" ", "·").replace(INVISIBLE, code);
  // A text whose characters that are not in the other one are marked, blanks and invisible ones too.
  // NULL and an empty text of a row that exists are named.
  const marked = (own, other, exists) => {
    const shown = document.createElement("span");
    if (own === null || own === undefined || own === "") {
      shown.className = "no-value";
      shown.textContent = !exists ? "" : own === "" ? "empty" : "NULL";
      return shown;
    }
    const text = [...String(own)];
    if (typeof other !== "string") {
      shown.textContent = String(own).replace(INVISIBLE, code);
      return shown;
    }
    const rest = [...other];
    let start = 0;
    while (start < text.length && start < rest.length && text[start] === rest[start]) start++;
    let end = 0;
    const most = Math.min(text.length, rest.length) - start;
    while (end < most && text[text.length - 1 - end] === rest[rest.length - 1 - end]) end++;
    const part = (from, to) => text.slice(from, to).join("");
    const mark = document.createElement("mark");
    mark.textContent = spelled(part(start, text.length - end));
    const plain = [part(0, start), part(text.length - end)].map((each) => each.replace(INVISIBLE, code));
    shown.append(plain[0], ...(mark.textContent ? [mark] : []), plain[1]);
    return shown;
  };
  window.skillian = { exact, short, label, percent, time, tick, marked };

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
