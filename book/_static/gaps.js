// The lines of a gap are there, and blank until the reader asks for them.
for (const cell of document.querySelectorAll(".gap")) {
  const button = cell.querySelector(".yours button");
  button.hidden = false;
  cell.classList.add("blank");
  button.addEventListener("click", () => {
    cell.classList.remove("blank");
    button.remove();
  });
}
