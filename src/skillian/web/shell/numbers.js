// Numbers and times in the reader's locale: the page formats them only here.
// A number arrives as text, and so keeps all of its digits.
(() => {
  const DECIMAL = /^-?\d+(\.\d+)?$/;
  const format = (value, options) => new Intl.NumberFormat(navigator.language, options).format(value);
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
    format(value, { notation: "compact", maximumSignificantDigits: 3, signDisplay: signed ? "exceptZero" : "auto" });
  const percent = (value) => `${format(value, { maximumFractionDigits: 4 })} %`;
  const time = (value) =>
    new Intl.DateTimeFormat(navigator.language, {
      year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
    }).format(new Date(value));
  window.skillian = { exact, short, percent, time };

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
