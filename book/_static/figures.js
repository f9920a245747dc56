// A phone shows a wide figure smaller than it was drawn: below it, a button opens it at its own width.
const enlarged = document.createElement("dialog");
enlarged.className = "enlarged";
enlarged.ariaLabel = "Figure";
enlarged.innerHTML = "<button>Close</button><p></p>";
enlarged.addEventListener("click", () => enlarged.close());
document.querySelector("article").append(enlarged);

for (const figure of document.querySelectorAll(".cell_output img[width]")) {
  if (figure.getAttribute("width") < 340) continue; // fits a phone
  const button = document.createElement("button");
  button.className = "enlarge";
  button.textContent = "Enlarge the figure";
  button.addEventListener("click", () => {
    enlarged.lastChild.replaceWith(figure.cloneNode());
    enlarged.showModal();
  });
  figure.addEventListener("click", () => button.checkVisibility() && button.click());
  figure.after(button);
}
