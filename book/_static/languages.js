// A link to another language leads to the block that one is reading: the same section, the same place in it.
{
  const blocks = (section) => [...section.children].filter((block) => !block.matches("section"));
  const LINE = 80; // what begins above it is under the bar, or first below it
  const isAbove = (element) => element.getBoundingClientRect().top < LINE;

  const lead = (link) => {
    const section = scrollY && [...document.querySelectorAll("article section[id]")].findLast(isAbove);
    const address = new URL(link.href);
    address.search = location.search;
    if (section) {
      address.searchParams.set("block", blocks(section).findLastIndex(isAbove));
      address.hash = section.id;
    }
    link.href = address;
  };
  for (const link of document.querySelectorAll("a.language")) link.addEventListener("click", () => lead(link));

  const here = new URL(location);
  const place = here.searchParams.get("block");
  if (place !== null) {
    const section = document.getElementById(decodeURIComponent(here.hash.slice(1)));
    if (section) blocks(section)[place]?.scrollIntoView({ behavior: "instant" });
    here.searchParams.delete("block");
    history.replaceState(null, "", here);
  }
}
