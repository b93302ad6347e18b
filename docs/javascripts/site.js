// Regions that scroll sideways can be reached with the keyboard. The theme adds them after the page.
const reach = () => {
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    region.tabIndex = 0
  }
}
reach()
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true })
