// Who copies a passage copies the TeX of its formulas, which would else come as loose letters.
document.addEventListener("copy", (event) => {
  const selection = document.getSelection();
  if (selection.isCollapsed) return;
  const passage = document.createElement("div");
  passage.append(selection.getRangeAt(0).cloneContents());
  const formulas = passage.querySelectorAll("math:has(annotation)");
  if (!formulas.length) return;
  for (const formula of formulas) {
    const marks = formula.getAttribute("display") === "block" ? "$$" : "$";
    formula.replaceWith(marks + formula.querySelector("annotation").textContent + marks);
  }
  for (const link of passage.querySelectorAll("a[href]")) link.href = link.href; // the whole address
  document.body.append(passage); // only what is on the page has lines
  event.clipboardData.setData("text/plain", passage.innerText);
  event.clipboardData.setData("text/html", passage.innerHTML);
  passage.remove();
  event.preventDefault();
});
