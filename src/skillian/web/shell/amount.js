// A number with all of its digits, formatted for the locale. It arrives as text.
export default {
  template: `<span class="number"><span>{{ text }}</span><span v-if="unit" class="unit">{{ unit }}</span></span>`,
  props: { value: String, unit: String, signed: Boolean },
  computed: {
    text() {
      if (this.value === null || this.value === undefined) return "–";
      const digits = (this.value.split(".")[1] || "").length;
      return new Intl.NumberFormat(navigator.language, {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
        signDisplay: this.signed ? "exceptZero" : "auto",
      }).format(this.value);
    },
  },
};
