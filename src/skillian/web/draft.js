// What is typed stays in this tab until it is sent: neither a reload nor a restart loses it.
(() => {
  const area = document.querySelector(".composer textarea");
  if (!area || area.dataset.kept) return;
  area.dataset.kept = "yes";
  const place = () => "skillian-draft " + location.pathname;
  area.addEventListener("input", () => sessionStorage.setItem(place(), area.value));
  const draft = sessionStorage.getItem(place());
  if (draft && !area.value) {
    area.value = draft;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
})();
