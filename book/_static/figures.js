// A phone shows a wide figure smaller than it was drawn: below it, a button opens it at its own width.
const enlarged = document.createElement("dialog");
enlarged.className = "enlarged";
enlarged.ariaLabel = _("Figure");
enlarged.innerHTML = "<button></button><p></p>";
enlarged.firstChild.textContent = _("Close");
enlarged.addEventListener("click", () => enlarged.close());
document.querySelector("article").append(enlarged);

for (const figure of document.querySelectorAll(".cell_output img[width]")) {
  if (figure.getAttribute("width") < 340) continue; // fits a phone
  const button = document.createElement("button");
  button.className = "enlarge";
  button.textContent = _("Enlarge the figure");
  button.addEventListener("click", () => {
    enlarged.lastChild.replaceWith(figure.cloneNode());
    enlarged.showModal();
  });
  figure.addEventListener("click", () => button.checkVisibility() && button.click());
  figure.after(button);
}
