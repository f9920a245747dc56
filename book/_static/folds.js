// The theme measures every block of code when a page starts, to let the keyboard scroll those that
// are too wide. What lies in a fold has no size until then (course.css); it is measured when opened.
addEventListener("load", () => document.documentElement.classList.add("loaded"));

document.addEventListener(
  "toggle",
  ({ target }) => {
    for (const box of target.querySelectorAll("pre, .cell_output > .output"))
      box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
  },
  true, // the event does not bubble
);
