// The meaning of a term that has the focus is closed by Escape.
addEventListener("keydown", ({ key }) => {
  if (key === "Escape") document.activeElement.closest(".term")?.blur();
});
