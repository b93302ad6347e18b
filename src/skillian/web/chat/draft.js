// A draft stays in this tab until it is sent, through a reload and a restart of the server.
(() => {
  const area = document.querySelector(".composer textarea");
  if (!area || area.dataset.kept) return;
  area.dataset.kept = "yes";
  const key = () => "skillian-draft " + location.pathname;
  area.addEventListener("input", () => sessionStorage.setItem(key(), area.value));
  const draft = sessionStorage.getItem(key());
  if (draft && !area.value) {
    area.value = draft;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
})();
